// Package operand reads the arguments of a call as they are typed on a command
// line (name=value, name:=JSON, name=@file, a[b][c]=value, list[]=value,
// name==) and makes one JSON object of them.
//
// Reading has two steps, because mistakes of form are told before a server is
// started: [Parse] needs the text alone, [Build] the tool's input schema.
package operand

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Operand is one argument as typed.
type Operand struct {
	path []step
	form form
	// text is the value of a typed operand, value that of an exact one.
	text     string
	fromFile bool
	value    *doc.Value
	arg      string // as typed, for messages
}

type form uint8

const (
	typed  form = iota + 1 // k=v: the schema gives the type of v
	exact                  // k:=JSON: sent as written
	coded                  // k=@base64:file: always a string
	remove                 // k==
)

// Name returns the name of the argument at the top of the object.
func (o Operand) Name() string { return o.path[0].name }

// step is one part of a path: a name, an index, or the end of a list.
type step struct {
	name string
	end  bool // []
}

// ErrForm is matched by the errors of [Parse] and [Build]: what was typed is
// not a set of operands.
var ErrForm = errors.New("operand")

type formError struct {
	arg, reason string
	cause       error
}

func (e *formError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.arg, e.reason, e.cause)
	}
	return e.arg + ": " + e.reason
}

func (e *formError) Unwrap() []error { return []error{ErrForm, e.cause} }

// Parse reads one operand, and the file it names. Every error matches
// [ErrForm]; a *doc.SyntaxError inside tells where JSON is wrong.
func Parse(arg string, files *Files) (Operand, error) {
	if !utf8.ValidString(arg) {
		return Operand{}, &formError{arg: strings.ToValidUTF8(arg, "\uFFFD"), reason: "is not UTF-8 text; name=@base64:FILE sends bytes in base64"}
	}
	if v, err := doc.Parse([]byte(arg)); err == nil && v.Kind() == doc.Object {
		return Operand{}, &formError{arg: arg, reason: "is a JSON object, not name=value: write --json before it"}
	}
	key, rest, ok := cut(arg)
	if !ok {
		return Operand{}, &formError{arg: arg, reason: "is not name=value"}
	}
	op := Operand{arg: arg, form: typed}
	if strings.HasSuffix(key, ":") {
		op.form, key = exact, key[:len(key)-1]
	}
	var err error
	if op.path, err = parsePath(arg, key); err != nil {
		return Operand{}, err
	}
	if op.form == typed && rest == "=" {
		op.form = remove
		return op, nil
	}
	return op, op.read(rest, files)
}

// cut splits at the first = outside of brackets.
func cut(arg string) (key, rest string, ok bool) {
	depth := 0
	for i := range len(arg) {
		switch arg[i] {
		case '[':
			depth++
		case ']':
			depth--
		case '=':
			if depth <= 0 {
				return arg[:i], arg[i+1:], true
			}
		}
	}
	return "", "", false
}

// read takes the value: text, or what the file it names holds.
func (o *Operand) read(rest string, files *Files) error {
	text := rest
	switch {
	case strings.HasPrefix(rest, "@@"):
		text = rest[1:]
	case strings.HasPrefix(rest, "@base64:") && o.form == typed:
		data, err := files.exact(strings.TrimPrefix(rest, "@base64:"))
		if err != nil {
			return &formError{arg: o.arg, reason: "cannot be read", cause: err}
		}
		o.form, o.text = coded, encode(data)
		return nil
	case strings.HasPrefix(rest, "@"):
		data, err := files.exact(rest[1:]) // a mark may belong to a string
		if err != nil {
			return &formError{arg: o.arg, reason: "cannot be read", cause: err}
		}
		if !utf8.Valid(data) {
			return &formError{arg: o.arg, reason: "the file is not UTF-8 text; name=@base64:FILE sends bytes in base64"}
		}
		text, o.fromFile = string(data), true
	}
	if o.form == typed {
		o.text = text
		return nil
	}
	v, err := doc.Parse(WithoutMark([]byte(text)))
	if err != nil {
		return &formError{arg: o.arg, reason: "is not JSON", cause: err}
	}
	o.value = v
	return nil
}

// parsePath reads name, name[key], name[0], name[] and so on.
func parsePath(arg, key string) ([]step, error) {
	name, rest, _ := strings.Cut(key, "[")
	if strings.Contains(key, "[") {
		rest = "[" + rest
	}
	if name == "" {
		return nil, &formError{arg: arg, reason: "has no name before the ="}
	}
	if strings.Contains(name, "]") {
		return nil, &formError{arg: arg, reason: "has a ] without a [; --json accepts any name"}
	}
	path := []step{{name: name}}
	for rest != "" {
		if rest[0] != '[' {
			return nil, &formError{arg: arg, reason: "has text after a ]"}
		}
		inner, after, found := strings.Cut(rest[1:], "]")
		if !found || strings.Contains(inner, "[") {
			return nil, &formError{arg: arg, reason: "has a [ without a ]"}
		}
		path = append(path, step{name: inner, end: inner == ""})
		rest = after
	}
	return path, nil
}

// written returns the path as typed.
func written(path []step) string {
	var b strings.Builder
	for i, s := range path {
		if i == 0 {
			b.WriteString(s.name)
			continue
		}
		b.WriteString("[" + s.name + "]")
	}
	return b.String()
}
