package mcp

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// codec visits the members of protocol types. Each type names its members once,
// in its fields method; the codec runs that list once for every member it
// reads, once to check what was missing, and once to write. Not safe for
// concurrent use.
type codec struct {
	frame
	// Reading.
	in    source // dec or valid
	dec   *jsontext.Decoder
	buf   bytes.Buffer
	valid validSource
	data  []byte // what is read; strings and raw values share it
	guess int    // how long the next list may be
	path  []step // of the object being read
	// flags and annotations are room for what a list of tools has many of.
	flags       slab[bool]
	annotations slab[ToolAnnotations]
	// consumes allows to overwrite data that was read; see [Consume].
	consumes bool
	// Writing.
	out []byte
	// err is the first failure; nothing is read or written after it.
	err error
}

// frame is the state of one object being visited.
type frame struct {
	mode    mode
	place   uint   // of the next member in the type's list
	name    string // the member being read
	matched bool   // a field took it
	fresh   bool   // nothing was read into the object yet
	comma   bool   // a member was written
	seen    presence
	zero    *presence
	extra   *Members
	written []string // names written, kept only when there are extra members
}

type mode uint8

const (
	reading mode = iota + 1
	checking
	writing
)

// need says how a member behaves when it is not there.
type need uint8

const (
	// optional members may be missing and are not written when zero.
	optional need = iota
	// written members are required by the schema, but a peer that forgets one
	// is understood all the same.
	written
	// required members are an error when missing: the value means nothing
	// without them.
	required
)

// step is one part of a path: a member's name or, when name is empty, an index.
type step struct {
	name  string
	index int
}

var codecs = sync.Pool{New: func() any {
	c := &codec{}
	c.dec = jsontext.NewDecoder(&c.buf)
	return c
}}

// release returns c to the pool without any reference to what it worked on.
func (c *codec) release() {
	c.buf = bytes.Buffer{}
	c.dec.Reset(&c.buf)
	clear(c.path[:cap(c.path)]) // names share the data's memory
	*c = codec{dec: c.dec, path: c.path[:0]}
	codecs.Put(c)
}

// open starts a type's list of members: extra takes members without a field,
// zero those in an unusual form.
func (c *codec) open(extra *Members, zero *presence) {
	c.place = 0
	c.extra, c.zero = extra, zero
	if c.fresh {
		*extra, *zero = nil, 0
		c.fresh = false
	}
}

// enter reports whether the member name is to be read or written now.
func (c *codec) enter(name string, n need) bool {
	bit := presence(1) << c.place
	c.place++
	if c.err != nil {
		return false
	}
	switch c.mode {
	case reading:
		if c.matched || c.name != name {
			return false
		}
		c.matched = true
		c.seen |= bit
		return true
	case checking:
		if n == required && c.seen&bit == 0 {
			c.fail(name, "missing")
		}
		return false
	default:
		return true
	}
}

// enterValue is enter for members where null is the same as absent.
func (c *codec) enterValue(name string, n need) bool {
	if !c.enter(name, n) {
		return false
	}
	if c.mode == reading && c.in.PeekKind() == 'n' {
		c.token()
		c.seen &^= c.bit()
		return false
	}
	return true
}

// bit is the presence bit of the member entered last.
func (c *codec) bit() presence { return 1 << (c.place - 1) }

// mark remembers that the member entered last was received in its unusual form.
func (c *codec) mark() { *c.zero |= c.bit() }

// marked reports whether it was.
func (c *codec) marked() bool { return *c.zero&c.bit() != 0 }

// fail records that the member name of the current object is wrong.
func (c *codec) fail(name, reason string) {
	if c.err != nil {
		return
	}
	c.path = append(c.path, step{name: name})
	c.err = &DecodeError{Path: c.pathString(), Reason: reason}
}

// wrong records that the value being read has the wrong shape.
func (c *codec) wrong(want string) {
	if c.err != nil {
		return
	}
	c.err = &DecodeError{Path: c.pathString(), Reason: "want " + want + ", got " + kindName(c.in.PeekKind())}
}

func (c *codec) pathString() string {
	var b []byte
	for _, s := range c.path {
		switch {
		case s.name == "":
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(s.index), 10)
			b = append(b, ']')
		case len(b) == 0:
			b = append(b, s.name...)
		default:
			b = append(b, '.')
			b = append(b, s.name...)
		}
	}
	return string(b)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	default:
		return "something that is not JSON"
	}
}
