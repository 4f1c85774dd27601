package mcp

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Expand returns the URI that the template makes of values: RFC 6570 with all
// its operators, for values that are text. A variable without a value is left
// out, as the RFC says; a value the template does not name is an error.
//
// A value cannot change the rest of the URI: characters that have a meaning in URIs
// are escaped, except in {+x} and {#x}, which allow them. A segment of one or two
// dots is always escaped.
func (v *ResourceTemplate) Expand(values map[string]string) (string, error) {
	var out strings.Builder
	used := 0
	known := map[string]bool{}
	for rest := v.URITemplate; rest != ""; {
		text, expression, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return "", templateError(v.URITemplate, "it has a closing brace without an opening one")
		}
		escape(&out, text, true)
		if !found {
			break
		}
		if expression, rest, found = strings.Cut(expression, "}"); !found {
			return "", templateError(v.URITemplate, "it has an opening brace without a closing one")
		}
		vars, op, err := parseExpression(v.URITemplate, expression)
		if err != nil {
			return "", err
		}
		first := true
		for _, x := range vars {
			value, ok := values[x.name]
			if ok && !known[x.name] {
				known[x.name] = true
				used++
			}
			if ok {
				op.write(&out, x, value, first)
				first = false
			}
		}
	}
	if used < len(values) {
		for name := range values {
			if !known[name] {
				return "", fmt.Errorf("the URI template %q has no variable %q", jsonrpc.Printable(v.URITemplate, 200), name)
			}
		}
	}
	return out.String(), nil
}

func templateError(template, why string) error {
	return fmt.Errorf("the URI template %q cannot be expanded: %s", jsonrpc.Printable(template, 200), why)
}

// operator is a row of RFC 6570's table of operators.
type operator struct {
	first, between string
	named          bool
	bare           bool // a named variable with an empty value has no equals sign
	reserved       bool // reserved characters and escapes stay unchanged
}

var operators = map[byte]operator{
	'+': {between: ",", reserved: true},
	'#': {first: "#", between: ",", reserved: true},
	'.': {first: ".", between: "."},
	'/': {first: "/", between: "/"},
	';': {first: ";", between: ";", named: true, bare: true},
	'?': {first: "?", between: "&", named: true},
	'&': {first: "&", between: "&", named: true},
}

// variable is one variable of an expression. prefix is the number of characters of
// the value that are used; 0 means all.
type variable struct {
	name   string
	prefix int
}

func parseExpression(template, expression string) ([]variable, operator, error) {
	op := operator{between: ","}
	if expression != "" {
		if known, ok := operators[expression[0]]; ok {
			op, expression = known, expression[1:]
		}
	}
	var vars []variable
	for name := range strings.SplitSeq(expression, ",") {
		x := variable{name: strings.TrimSuffix(name, "*")} // exploding a text does not change it
		if before, digits, ok := strings.Cut(name, ":"); ok {
			x.name = before
			if len(digits) == 0 || len(digits) > 4 || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
				return nil, op, templateError(template, "a prefix is a number from 1 to 9999")
			}
			for _, d := range digits {
				x.prefix = 10*x.prefix + int(d-'0')
			}
		}
		if !isVariable(x.name) {
			return nil, op, templateError(template, fmt.Sprintf("%q is not a variable", name))
		}
		vars = append(vars, x)
	}
	return vars, op, nil
}

func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && c != '_' && c != '.' && c != '%' {
			return false
		}
	}
	return name != "" && name[0] != '.'
}

func (op operator) write(out *strings.Builder, x variable, value string, first bool) {
	if first {
		out.WriteString(op.first)
	} else {
		out.WriteString(op.between)
	}
	if op.named {
		out.WriteString(x.name)
		if value == "" && op.bare {
			return
		}
		out.WriteByte('=')
	}
	if x.prefix > 0 {
		if runes := []rune(value); len(runes) > x.prefix {
			value = string(runes[:x.prefix])
		}
	}
	segments := strings.Split(value, "/")
	for i, segment := range segments {
		if i > 0 {
			escape(out, "/", op.reserved)
		}
		if segment == "." || segment == ".." {
			out.WriteString(strings.Repeat("%2E", len(segment)))
		} else {
			escape(out, segment, op.reserved)
		}
	}
}

// escape appends text and escapes all characters except unreserved ones. With
// reserved, it also leaves reserved characters and existing escapes unchanged.
func escape(out *strings.Builder, text string, reserved bool) {
	for i := range len(text) {
		c := text[i]
		switch {
		case isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0,
			reserved && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0,
			reserved && c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			out.WriteByte(c)
		default:
			fmt.Fprintf(out, "%%%02X", c)
		}
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
