package serverfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// plain returns JSON with comments and trailing commas as JSON without: each is
// overwritten with blanks, so that every offset stays what it was. It looks at
// strings and comments only; all else is left to the parser, which refuses it.
func plain(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1       // a comma since which nothing but blanks has come
	last := byte('[') // what came last but blanks
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i, comma, last = i+stringLen(out[i:]), -1, c
			continue
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			n := commentLen(out[i:])
			if n == 0 {
				return out // it does not end, which the parser says
			}
			for k := i; k < i+n; k++ {
				if out[k] != '\n' {
					out[k] = ' '
				}
			}
			i += n
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',' && last != ',' && last != '[' && last != '{':
			comma, last = i, c
		default:
			if comma >= 0 && (c == '}' || c == ']') {
				out[comma] = ' '
			}
			comma, last = -1, c
		}
		i++
	}
	return out
}

// stringLen is the length of the string at the start of text, quotes included.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentLen is the length of the comment at the start of text, 0 when it does
// not end.
func commentLen(text []byte) int {
	if text[1] == '/' {
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			return end
		}
		return len(text)
	}
	if end := bytes.Index(text[2:], []byte("*/")); end >= 0 {
		return end + 4
	}
	return 0
}

// member is one member of an object: its name, where the name and the value
// stand in the file, and the value.
type member struct {
	name  string
	named int
	at    int
	value json.RawMessage
}

// members returns the members of the object that raw is, which begins at offset
// in the file. A name that comes twice is an error: hosts do not agree on which
// counts.
func members(raw []byte, offset int) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	here := func() int { return offset + int(dec.InputOffset()) }
	if token, err := dec.Token(); err != nil {
		return nil, faultAt(here(), err)
	} else if token != json.Delim('{') {
		return nil, errNotObject
	}
	var out []member
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, faultAt(here(), err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, faultAt(here(), errors.New("a member needs a name in quotes"))
		}
		if seen[name] {
			return nil, faultAt(here(), fmt.Errorf("member %q stands there twice", name))
		}
		seen[name] = true
		m := member{name: name, named: here()}
		if err := dec.Decode(&m.value); err != nil {
			return nil, faultAt(here(), err)
		}
		m.at = here() - len(m.value)
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, faultAt(here(), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, faultAt(here(), errors.New("something follows the closing bracket"))
	}
	return out, nil
}

var errNotObject = errors.New("must be an object")

// fault is a fault of the text and where it is.
type fault struct {
	at  int
	err error
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// faultAt says where a fault is, as the parser tells or else near where it
// stands.
func faultAt(at int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	return &fault{at: at, err: err}
}

// located adds line and column to a fault.
func located(text []byte, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	at := min(f.at, len(text))
	column := at - (bytes.LastIndexByte(text[:at], '\n') + 1) + 1
	return fmt.Errorf("line %d, column %d: %w", lineOf(text, at), column, f.err)
}

// lineOf is the line of an offset, counted from 1.
func lineOf(text []byte, at int) int {
	return 1 + bytes.Count(text[:min(at, len(text))], []byte("\n"))
}
