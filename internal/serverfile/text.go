package serverfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// plain replaces comments and trailing commas by blanks, so that every offset stays the same. It
// recognizes only strings and comments; the parser rejects other errors.
func plain(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1       // a comma with only blanks after it
	last := byte('[') // last byte that is not blank
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i, comma, last = i+stringLen(out[i:]), -1, c
			continue
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			n := commentLen(out[i:])
			if n == 0 {
				return out // it does not end, which the parser reports
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

// stringLen returns the length of the string at the start of text, with its quotes.
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

// commentLen returns the length of the comment at the start of text, 0 if it does not end.
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

// member is one member of an object: its name and value with their offsets in the file.
type member struct {
	name  string
	named int
	at    int
	value json.RawMessage
}

// members returns the members of an object that starts at offset in the file. A duplicate name is
// an error: hosts do not agree on which one to use.
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
			return nil, faultAt(here(), fmt.Errorf("member %q is a duplicate", name))
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

// fault is an error with its offset in the text.
type fault struct {
	at  int
	err error
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// faultAt returns an error at an offset, which is near the error.
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

// lineOf returns the line of an offset, counted from 1.
func lineOf(text []byte, at int) int {
	return 1 + bytes.Count(text[:min(at, len(text))], []byte("\n"))
}
