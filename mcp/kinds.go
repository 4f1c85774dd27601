package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// The kinds of members in a type's list. Each function reads or writes one member
// through a pointer to its field, if [codec.enter] allows it.

// str is a string or a named string.
func str[S ~string](c *codec, name string, n need, p *S) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		*p = S(c.readString())
		if *p == "" && n == optional {
			c.mark()
		}
		return
	}
	if *p != "" || n != optional || c.marked() {
		c.key(name)
		c.writeString(string(*p))
	}
}

// cursor is an optional string where empty and absent differ.
func (c *codec) cursor(name string, p **string) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		s := c.readString()
		*p = &s
		return
	}
	if *p != nil {
		c.key(name)
		c.writeString(**p)
	}
}

// boolean is a flag that is false if absent.
func (c *codec) boolean(name string, p *bool) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = c.readBool()
		if !*p {
			c.mark()
		}
		return
	}
	if *p || c.marked() {
		c.key(name)
		c.writeBool(*p)
	}
}

// hint is a flag that may be absent.
func (c *codec) hint(name string, p **bool) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = c.flags.next()
		**p = c.readBool()
		return
	}
	if *p != nil {
		c.key(name)
		c.writeBool(**p)
	}
}

// integer is an integer that may be absent. If it is not optional, nil is written as
// null.
func (c *codec) integer(name string, n need, p **int64) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		i := c.readInt()
		*p = &i
		return
	}
	switch {
	case *p != nil:
		c.key(name)
		c.writeInt(**p)
	case n != optional:
		c.key(name)
		c.out = append(c.out, "null"...)
	}
}

// count is an integer that is always there.
func (c *codec) count(name string, n need, p *int64) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		*p = c.readInt()
		return
	}
	c.key(name)
	c.writeInt(*p)
}

// number is a number that is always there.
func (c *codec) number(name string, n need, p *float64) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		*p = c.readFloat()
		return
	}
	c.key(name)
	c.writeFloat(*p)
}

// fraction is a number that may be absent.
func (c *codec) fraction(name string, p **float64) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		f := c.readFloat()
		*p = &f
		return
	}
	if *p != nil {
		c.key(name)
		c.writeFloat(**p)
	}
}

// id is a request id, a progress token or a subscription id.
func (c *codec) id(name string, n need, p *jsonrpc.ID) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		k := c.in.PeekKind()
		if k != '"' && k != '0' {
			c.wrong("a string or an integer")
			return
		}
		raw := c.next()
		if c.err == nil && p.UnmarshalJSON(raw) != nil {
			c.err = &DecodeError{Path: c.pathString(), Reason: "want a string or an integer, got " + string(raw)}
		}
		return
	}
	if !p.IsZero() || n != optional {
		c.key(name)
		c.out = p.AppendJSON(c.out)
	}
}

// raw is any value kept as received; null is the same as absent.
func (c *codec) raw(name string, p *json.RawMessage) {
	if !c.enterValue(name, optional) {
		return
	}
	c.anything(name, p)
}

// value is raw where null is a value.
func (c *codec) value(name string, p *json.RawMessage) {
	if !c.enter(name, optional) {
		return
	}
	c.anything(name, p)
}

func (c *codec) anything(name string, p *json.RawMessage) {
	if c.mode == reading {
		*p = c.next()
		return
	}
	if *p != nil {
		c.key(name)
		c.writeRaw(name, *p)
	}
}

// raws is a map of raw values. An empty one is written unless it is nil.
func (c *codec) raws(name string, p *map[string]json.RawMessage) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = map[string]json.RawMessage{}
		c.readMembers(func(key string) { (*p)[key] = c.next() })
		return
	}
	if *p == nil {
		return
	}
	c.key(name)
	c.writeMap(slices.Sorted(maps.Keys(*p)), func(key string) { c.writeRaw(key, (*p)[key]) })
}

// texts is a map of strings. An empty one is written unless it is nil.
func (c *codec) texts(name string, p *map[string]string) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = map[string]string{}
		c.readMembers(func(key string) { (*p)[key] = c.readString() })
		return
	}
	if *p == nil {
		return
	}
	c.key(name)
	c.writeMap(slices.Sorted(maps.Keys(*p)), func(key string) { c.writeString((*p)[key]) })
}

// writeMap appends an object with keys. f writes the value of a key.
func (c *codec) writeMap(keys []string, f func(key string)) {
	c.out = append(c.out, '{')
	for i, key := range keys {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.writeString(key)
		c.out = append(c.out, ':')
		f(key)
	}
	c.out = append(c.out, '}')
}

// strs is a list of strings or named strings.
func strs[S ~string](c *codec, name string, n need, p *[]S) {
	if !c.enter(name, n) {
		return
	}
	if c.mode == reading {
		*p = []S{}
		c.each(func(int) { *p = append(*p, S(c.readString())) })
		return
	}
	if *p == nil && n == optional {
		return
	}
	c.key(name)
	c.out = append(c.out, '[')
	for i, s := range *p {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.writeString(string(s))
	}
	c.out = append(c.out, ']')
}

// list is a list of objects.
func list[T any, P objectPtr[T]](c *codec, name string, n need, p *[]T) {
	if !c.enter(name, n) {
		return
	}
	if c.mode == reading {
		*p = make([]T, 0, c.capacity())
		c.each(func(i int) {
			var zero T
			*p = append(*p, zero)
			c.readObject(P(&(*p)[i]))
		})
		return
	}
	if *p == nil && n == optional {
		return
	}
	c.key(name)
	c.out = append(c.out, '[')
	for i := range *p {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.writeObject(P(&(*p)[i]))
	}
	c.out = append(c.out, ']')
}

// expectTools sets the expected length of the list of tools: how often "inputSchema"
// occurs in the data. It searches for S, a rare letter in such data, which is fast.
func (c *codec) expectTools() {
	if c.mode != reading || c.name != "tools" {
		return
	}
	for rest := c.data; c.guess < maxGuess; {
		at := bytes.IndexByte(rest, 'S')
		if at < 0 {
			return
		}
		if bytes.HasSuffix(rest[:at], []byte(`"input`)) && bytes.HasPrefix(rest[at:], []byte(`Schema"`)) {
			c.guess++
		}
		rest = rest[at+1:]
	}
}

// capacity returns the capacity for the next list.
func (c *codec) capacity() int {
	n := c.guess
	c.guess = 0
	return n
}

// maxGuess limits the memory that a peer can make the codec reserve for elements
// that it does not send.
const maxGuess = 1024

// ptr is an object that may be absent.
func ptr[T any, P objectPtr[T]](c *codec, name string, p **T) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = new(T)
		c.readObject(P(*p))
		return
	}
	if *p != nil {
		c.key(name)
		c.writeObject(P(*p))
	}
}

// val is an object that is always there.
func val[T any, P objectPtr[T]](c *codec, name string, n need, p *T) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		c.readObject(P(p))
		return
	}
	c.key(name)
	c.writeObject(P(p))
}
