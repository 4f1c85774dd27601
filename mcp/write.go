package mcp

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// writeObject appends o.
func (c *codec) writeObject(o object) {
	if raw, ok := o.(*RawContent); ok {
		c.writeRaw("content", raw.Raw)
		return
	}
	outer := c.frame
	c.frame = frame{mode: writing}
	c.out = append(c.out, '{')
	o.fields(c)
	if c.extra != nil {
		for _, m := range *c.extra {
			if !slices.Contains(c.written, m.Name) {
				c.key(m.Name)
				c.writeRaw(m.Name, m.Value)
			}
		}
	}
	c.out = append(c.out, '}')
	c.frame = outer
}

// key appends a member's name.
func (c *codec) key(name string) {
	if c.comma {
		c.out = append(c.out, ',')
	}
	c.comma = true
	c.out = jsonrpc.AppendString(c.out, name)
	c.out = append(c.out, ':')
	if c.extra != nil && len(*c.extra) > 0 {
		c.written = append(c.written, name)
	}
}

// rawOptions write a raw value without white space and otherwise unchanged. Duplicate
// names are an error.
var rawOptions = []jsontext.Options{jsontext.PreserveRawStrings(true), jsontext.AllowInvalidUTF8(true)}

// writeRaw appends a value that is already encoded.
func (c *codec) writeRaw(name string, raw json.RawMessage) {
	if c.err != nil {
		return
	}
	out, err := jsontext.AppendFormat(c.out, raw, rawOptions...)
	if err != nil {
		c.syntax(err)
		var e *DecodeError
		if errors.As(c.err, &e) && e.Path == "" {
			e.Path = name
		}
		return
	}
	c.out = out
}

func (c *codec) writeString(s string) { c.out = jsonrpc.AppendString(c.out, s) }
func (c *codec) writeInt(i int64)     { c.out = strconv.AppendInt(c.out, i, 10) }
func (c *codec) writeBool(b bool)     { c.out = strconv.AppendBool(c.out, b) }

// writeFloat appends a number. NaN and infinity are an error.
func (c *codec) writeFloat(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail("", "JSON has no such number")
		return
	}
	c.out = append(c.out, jsontext.Float(f).String()...)
}
