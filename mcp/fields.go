package mcp

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// codec visits the members of protocol types. The fields method of a type lists its
// members once. The codec runs that list for every member that it reads, then to
// find missing members, and to write. It is not safe for concurrent use.
type codec struct {
	frame
	// Reading.
	in    source // dec or valid
	dec   *jsontext.Decoder
	buf   bytes.Buffer
	valid validSource
	data  []byte // the input; strings and raw values share its memory
	guess int    // the expected length of the next list
	path  []step // of the object being read
	// flags and annotations are memory for the many of them in a list of tools.
	flags       slab[bool]
	annotations slab[ToolAnnotations]
	// consumes allows the codec to overwrite data that was read; see [Consume].
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
	name    string // the member that is being read
	matched bool   // it has a field
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

// need tells what happens when a member is missing.
type need uint8

const (
	// optional members may be missing. They are not written if they are zero.
	optional need = iota
	// written members are required by the schema and always written, but accepted
	// if a peer omits them.
	written
	// required members are an error if they are missing, because the value is
	// useless without them.
	required
)

// step is one part of a path: the name of a member or, if name is empty, an index.
type step struct {
	name  string
	index int
}

var codecs = sync.Pool{New: func() any {
	c := &codec{}
	c.dec = jsontext.NewDecoder(&c.buf)
	return c
}}

// release returns c to the pool without references to its input and output.
func (c *codec) release() {
	c.buf = bytes.Buffer{}
	c.dec.Reset(&c.buf)
	clear(c.path[:cap(c.path)]) // names share the data's memory
	*c = codec{dec: c.dec, path: c.path[:0]}
	codecs.Put(c)
}

// open starts a type's list of members. extra gets members without a field; zero
// marks those in an unusual form, see [presence].
func (c *codec) open(extra *Members, zero *presence) {
	c.place = 0
	c.extra, c.zero = extra, zero
	if c.fresh {
		*extra, *zero = nil, 0
		c.fresh = false
	}
}

// enter reports whether the caller must read or write the member now.
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

// mark records that the member entered last was received in its unusual form.
func (c *codec) mark() { *c.zero |= c.bit() }

// marked reports whether it was.
func (c *codec) marked() bool { return *c.zero&c.bit() != 0 }

// fail records an error of the named member of the current object.
func (c *codec) fail(name, reason string) {
	if c.err != nil {
		return
	}
	c.path = append(c.path, step{name: name})
	c.err = &DecodeError{Path: c.pathString(), Reason: reason}
}

// wrong records that the value that is being read has the wrong type.
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
