package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Unmarshal decodes one JSON value into v, with the rules of this package:
// names match exactly, duplicate members are refused, unknown members are
// kept, wrong types are a [*DecodeError] that names the member.
//
// Unmarshal takes ownership of data when v is a pointer to a type of this
// package: strings and raw members of v share its memory, so data must not be
// changed afterwards, and stays alive as long as any of them does. The
// UnmarshalJSON methods copy first. Values of other types go through
// [jsonrpc.Unmarshal].
func Unmarshal(data []byte, v any) error {
	o, ok := v.(object)
	if !ok || isNil(o) {
		return jsonrpc.Unmarshal(data, v) // it rejects a nil pointer
	}
	return decode(data, o)
}

// UnmarshalValid is [Unmarshal] for data that is known to be valid JSON
// without duplicate members, such as data from [jsonrpc.Decode]. It skips the
// validation, which is most of the work.
//
// # Experimental
//
// The client uses it where speed matters. It may change.
func UnmarshalValid(data []byte, v any) error {
	o, ok := v.(object)
	if !ok || isNil(o) {
		return jsonrpc.Unmarshal(data, v)
	}
	return withCodec(data, func(c *codec) {
		c.trust()
		c.readObject(o)
	})
}

// Marshal encodes v without insignificant white space. Raw members are checked:
// one that is not valid JSON, or repeats a member name, is an error. Values of
// other packages' types go through [jsonrpc.Marshal].
func Marshal(v any) (json.RawMessage, error) {
	if o, ok := v.(object); ok && !isNil(o) {
		return encode(o)
	}
	return jsonrpc.Marshal(v)
}

// DecodeError names the member of a value that does not have the type that the
// protocol requires.
type DecodeError struct {
	// Path leads to the member: "tools[3].name". Empty for the value itself.
	Path string
	// Reason describes the error, for people.
	Reason string
}

func (e *DecodeError) Error() string {
	if e.Path == "" {
		return "invalid in the protocol: " + e.Reason
	}
	return fmt.Sprintf("invalid in the protocol: %s: %s", jsonrpc.Printable(e.Path, 200), e.Reason)
}

// Member is one member of a JSON object.
type Member struct {
	Name string
	// Value is the raw value, as received.
	Value json.RawMessage
}

// Members are the members of an object that have no field in this package, in
// the order received. Encoding writes them back, unless a field of the same
// name was written.
type Members []Member

// Get returns the value of the named member.
func (m Members) Get(name string) (json.RawMessage, bool) {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	return nil, false
}

// presence has a bit for each member, by its position in the type's list. The bit is
// set if the member was received in a form that its Go value does not show: an
// explicit zero value (isError: false), or a list of one where a single value is
// allowed. Such members are written back in the same form.
type presence uint32

// object is a protocol type. fields lists its members once, for reading,
// checking and writing alike.
type object interface {
	fields(c *codec)
}

type objectPtr[T any] interface {
	*T
	object
}

// isNil reports whether o is a nil pointer; every object is a pointer.
func isNil(o object) bool { return reflect.ValueOf(o).IsNil() }

func decode(data []byte, o object) error {
	return withCodec(data, func(c *codec) { c.readObject(o) })
}

// decodeCopy is decode for data that the caller keeps.
func decodeCopy(data []byte, o object) error { return decode(bytes.Clone(data), o) }

// withCodec reads all of data with f. It takes ownership of data.
func withCodec(data []byte, f func(c *codec)) error {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	c := codecs.Get().(*codec)
	defer c.release()
	return c.read(data, f)
}

func encode(o object) (json.RawMessage, error) {
	c := codecs.Get().(*codec)
	defer c.release()
	c.out = make([]byte, 0, 256)
	c.writeObject(o)
	if c.err != nil {
		return nil, c.err
	}
	return c.out, nil
}
