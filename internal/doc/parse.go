package doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError reports the position of a JSON syntax error.
type SyntaxError struct {
	// Reason describes the error, for people.
	Reason string
	// Line and Column count from 1, columns in runes.
	Line, Column int
	// Text is the line with the error, Caret spaces and a ^ under the column.
	Text, Caret string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.Reason, e.Line, e.Column)
}

// Parse reads one JSON value with nothing after it. It rejects text that is not UTF-8 and
// duplicate names. Every error is a [*SyntaxError].
func Parse(data []byte) (*Value, error) {
	if !json.Valid(data) {
		var whole json.RawMessage
		return nil, locate(data, json.Unmarshal(data, &whole))
	}
	return ParseValid(data)
}

// ParseValid is Parse for text that is valid JSON for sure, such as a result of the client.
func ParseValid(data []byte) (*Value, error) {
	p := parser{data: string(data)}
	v := p.value()
	if p.fault == "" {
		if at := invalidUTF8(p.data); at >= 0 {
			p.fail(at, "not UTF-8 text")
		}
	}
	if p.fault != "" {
		return nil, syntaxError(p.data, p.faultAt, p.fault)
	}
	return v, nil
}

// locate converts an error of encoding/json to a SyntaxError.
func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return syntaxError(string(data), 0, err.Error())
	}
	at := int(syntax.Offset)
	// The offset includes the wrong byte, except at the end of the input.
	if at > 0 && !strings.HasPrefix(syntax.Error(), "unexpected end") {
		at--
	}
	return syntaxError(string(data), at, syntax.Error())
}

// maxShown limits the part of the wrong line in an error.
const maxShown = 72

func syntaxError(text string, at int, reason string) *SyntaxError {
	at = min(at, len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	e := &SyntaxError{
		Reason: reason,
		Line:   1 + strings.Count(text[:at], "\n"),
		Column: 1 + utf8.RuneCountInString(text[start:at]),
	}
	line, _, _ := strings.Cut(text[start:], "\n")
	runes := []rune(line)
	from := max(0, e.Column-1-maxShown/2)
	to := min(len(runes), from+maxShown)
	if from > to {
		from = to
	}
	e.Text = string(runes[from:to])
	e.Caret = strings.Repeat(" ", e.Column-1-from) + "^"
	return e
}

func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

// parser parses text that encoding/json has validated, so it only looks for the start and the end
// of values.
type parser struct {
	data    string
	at      int
	fault   string
	faultAt int
}

func (p *parser) fail(at int, reason string) {
	if p.fault == "" {
		p.fault, p.faultAt = reason, at
	}
}

func (p *parser) space() {
	for p.at < len(p.data) && strings.IndexByte(" \t\r\n", p.data[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) value() *Value {
	p.space()
	start := p.at
	v := &Value{}
	switch c := p.data[p.at]; {
	case c == '{':
		v.kind = Object
		p.object(v)
	case c == '[':
		v.kind = Array
		p.array(v)
	case c == '"':
		v.kind = String
		p.str()
	case c == 'n':
		v.kind = Null
		p.at += len("null")
	case c == 't':
		v.kind = Bool
		p.at += len("true")
	case c == 'f':
		v.kind = Bool
		p.at += len("false")
	default:
		v.kind = Number
		for p.at < len(p.data) && strings.IndexByte("+-.0123456789eE", p.data[p.at]) >= 0 {
			p.at++
		}
	}
	v.raw = p.data[start:p.at]
	return v
}

// fewNames is how many names of an object are compared one by one: a map costs more.
const fewNames = 16

func (p *parser) object(v *Value) {
	var seen map[string]bool
	for p.at++; p.more('}'); {
		nameAt := p.at
		raw := p.str()
		name := (&Value{kind: String, raw: raw}).Str()
		if len(v.members) == fewNames {
			seen = make(map[string]bool, 2*fewNames)
			for _, m := range v.members {
				seen[m.Name] = true
			}
		}
		if seen[name] || seen == nil && v.Get(name) != nil {
			p.fail(nameAt, fmt.Sprintf("the name %q is a duplicate", name))
		}
		if seen != nil {
			seen[name] = true
		}
		p.space()
		p.at++ // the colon
		v.members = append(v.members, Member{Name: name, rawName: raw, Value: p.value()})
	}
}

func (p *parser) array(v *Value) {
	for p.at++; p.more(']'); {
		v.items = append(v.items, p.value())
	}
}

// more moves to the next element, or past the closing bracket.
func (p *parser) more(closing byte) bool {
	p.space()
	if p.data[p.at] == ',' {
		p.at++
		p.space()
	}
	if p.data[p.at] == closing {
		p.at++
		return false
	}
	return true
}

func (p *parser) str() string {
	start := p.at
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return p.data[start:p.at]
}
