package mcp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// read decodes data, all of it, with f.
func (c *codec) read(data []byte, f func(c *codec)) error {
	c.data = data
	c.buf = *bytes.NewBuffer(data)
	c.dec.Reset(&c.buf, jsontext.AllowInvalidUTF8(true))
	c.in = c.dec
	f(c)
	if c.err == nil {
		if _, err := c.in.ReadToken(); !errors.Is(err, io.EOF) {
			c.err = &DecodeError{Reason: "more bytes after the value"}
		}
	}
	return c.err
}

// trust makes c read the data without validating it.
func (c *codec) trust() {
	c.valid = validSource{data: c.data}
	c.in = &c.valid
}

// readObject reads the next object into o.
func (c *codec) readObject(o object) {
	if c.err != nil {
		return
	}
	if c.in.PeekKind() != '{' {
		c.wrong("an object")
		return
	}
	if raw, ok := o.(*RawContent); ok {
		raw.Raw = c.next()
		raw.Type, _ = memberAhead(raw.Raw, "type")
		return
	}
	c.token()
	outer := c.frame
	c.frame = frame{mode: reading, fresh: true}
	depth := len(c.path)
	for c.err == nil && c.in.PeekKind() != '}' {
		name := c.next()
		if c.err != nil {
			break
		}
		c.name, c.matched = c.text(name), false
		c.path = append(c.path, step{name: c.name})
		o.fields(c)
		if !c.matched && c.err == nil {
			value := c.next()
			*c.extra = append(*c.extra, Member{Name: c.name, Value: value})
		}
		c.path = c.path[:depth]
	}
	c.token()
	if c.err == nil {
		c.mode = checking
		o.fields(c)
	}
	c.frame = outer
}

// maxElements limits a list, because an empty block takes two bytes in the message and
// a hundred in memory.
const maxElements = 100_000

// each calls f to read each element of the next list. null counts as an empty list,
// because servers written in Go send it for a nil slice.
func (c *codec) each(f func(i int)) {
	switch c.in.PeekKind() {
	case 'n':
		c.token()
		return
	case '[':
	default:
		c.wrong("a list")
		return
	}
	c.token()
	c.path = append(c.path, step{})
	last := len(c.path) - 1
	for i := 0; c.err == nil && c.in.PeekKind() != ']'; i++ {
		c.path[last].index = i
		if i == maxElements {
			c.err = &DecodeError{Path: c.pathString(), Reason: "more than 100,000 elements"}
			return
		}
		f(i)
	}
	if c.err == nil {
		c.path = c.path[:last]
	}
	c.token()
}

// token reads one token whose kind is known.
func (c *codec) token() {
	if c.err != nil {
		return
	}
	if _, err := c.in.ReadToken(); err != nil {
		c.syntax(err)
	}
}

// next reads one value, which shares memory with the data. The decoder clips its
// capacity, so that an append does not overwrite the bytes after it.
func (c *codec) next() []byte {
	if c.err != nil {
		return nil
	}
	raw, err := c.in.ReadValue()
	if err != nil {
		c.syntax(err)
		return nil
	}
	return raw
}

func (c *codec) syntax(err error) {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		err = s.Err
	}
	c.err = &DecodeError{Path: c.pathString(), Reason: err.Error()}
}

// text returns the text of a JSON string. It shares memory with raw if raw has no
// escapes.
func (c *codec) text(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = unescape(make([]byte, 0, len(raw)), raw)
	}
	return shared(inner)
}

// shared returns a string that shares the memory of data. data must not change
// afterwards.
func shared(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// unescape appends the text of a JSON string that has escapes. dst may be the start
// of raw, because the text is never longer than raw.
func unescape(dst, raw []byte) []byte {
	// The error only reports lone surrogates, which become U+FFFD.
	dst, _ = jsontext.AppendUnquote(dst, raw)
	return dst
}

// readString reads the string that comes next.
func (c *codec) readString() string {
	if c.in.PeekKind() != '"' {
		c.wrong("a string")
		return ""
	}
	raw := c.next()
	if c.consumes && len(raw) > 2 && bytes.IndexByte(raw, '\\') >= 0 {
		return shared(unescape(raw[:0], raw))
	}
	return c.text(raw)
}

func (c *codec) readBool() bool {
	k := c.in.PeekKind()
	if k != 't' && k != 'f' {
		c.wrong("a boolean")
		return false
	}
	c.token()
	return k == 't'
}

// readInt reads an integer exactly. It accepts a number with a fraction or exponent
// if its value is whole and small enough to be exact.
func (c *codec) readInt() int64 {
	if c.in.PeekKind() != '0' {
		c.wrong("an integer")
		return 0
	}
	raw := string(c.next())
	if i, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return i
	}
	const exact = 1 << 53
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		if c.err == nil {
			c.err = &DecodeError{Path: c.pathString(), Reason: "want an integer of 64 bits, got " + raw}
		}
		return 0
	}
	return int64(f)
}

func (c *codec) readFloat() float64 {
	if c.in.PeekKind() != '0' {
		c.wrong("a number")
		return 0
	}
	f, err := strconv.ParseFloat(string(c.next()), 64)
	if err != nil && c.err == nil {
		c.err = &DecodeError{Path: c.pathString(), Reason: "number out of range"}
	}
	return f
}

// readMembers calls f to read the value of each member of the next object.
func (c *codec) readMembers(f func(name string)) {
	if c.in.PeekKind() != '{' {
		c.wrong("an object")
		return
	}
	c.token()
	depth := len(c.path)
	for c.err == nil && c.in.PeekKind() != '}' {
		raw := c.next()
		if c.err != nil {
			return
		}
		name := c.text(raw)
		c.path = append(c.path, step{name: name})
		f(name)
		if c.err == nil {
			c.path = c.path[:depth]
		}
	}
	c.token()
}
