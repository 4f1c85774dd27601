// Package doc has JSON documents exactly as they were written: it keeps the order of members and
// the digits of numbers, and no number passes through float64 on its way to a server or to the
// terminal.
//
// [Parse] reads a document, the methods of [Value] read and change it, and [Value.AppendJSON]
// writes it.
package doc

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Kind is the JSON type of a value.
type Kind uint8

const (
	// Null is null.
	Null Kind = iota + 1
	// Bool is true or false.
	Bool
	// Number is any JSON number of any size.
	Number
	// String is a JSON string.
	String
	// Array is an ordered list of values.
	Array
	// Object is an ordered list of named values with unique names.
	Object
)

// String returns the JSON Schema name of the kind.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	default:
		return "object"
	}
}

// Value is one JSON value. The methods that read may be called on a nil Value, which has no kind
// and no content. It is not safe for concurrent changes.
type Value struct {
	kind Kind
	// raw is the text as written: always set for scalars, and for arrays and objects until they
	// are changed.
	raw     string
	items   []*Value
	members []Member
}

// Member is one named value of an object.
type Member struct {
	Name  string
	Value *Value
	// rawName is the name as written, with its quotes.
	rawName string
}

// NewObject returns an object without members.
func NewObject() *Value { return &Value{kind: Object} }

// NewArray returns an array of items.
func NewArray(items ...*Value) *Value { return &Value{kind: Array, items: items} }

// Text returns a string value. Invalid UTF-8 in s becomes U+FFFD.
func Text(s string) *Value {
	return &Value{kind: String, raw: string(jsonrpc.AppendString(nil, s))}
}

// Kind returns the kind, 0 for a nil Value.
func (v *Value) Kind() Kind {
	if v == nil {
		return 0
	}
	return v.kind
}

// Str returns the text of a string value and "" for every other kind.
func (v *Value) Str() string {
	if v.Kind() != String {
		return ""
	}
	if strings.IndexByte(v.raw, '\\') < 0 {
		return v.raw[1 : len(v.raw)-1]
	}
	var s string
	if err := json.Unmarshal([]byte(v.raw), &s); err != nil {
		return ""
	}
	return s
}

// True reports whether the value is true.
func (v *Value) True() bool { return v.Kind() == Bool && v.raw == "true" }

// Items returns the items of an array, nil for every other kind.
func (v *Value) Items() []*Value {
	if v == nil {
		return nil
	}
	return v.items
}

// Members returns the members of an object, nil for every other kind.
func (v *Value) Members() []Member {
	if v == nil {
		return nil
	}
	return v.members
}

// Get returns the member with this name, nil for none.
func (v *Value) Get(name string) *Value {
	for _, m := range v.Members() {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Set sets the member with this name in an object. An existing member keeps its position.
func (v *Value) Set(name string, value *Value) {
	v.raw = ""
	for i := range v.members {
		if v.members[i].Name == name {
			v.members[i].Value = value
			return
		}
	}
	v.members = append(v.members, Member{Name: name, Value: value, rawName: string(jsonrpc.AppendString(nil, name))})
}

// Delete removes the member with this name from an object, if there is one.
func (v *Value) Delete(name string) {
	for i := range v.members {
		if v.members[i].Name == name {
			v.raw = ""
			v.members = append(v.members[:i:i], v.members[i+1:]...)
			return
		}
	}
}

// SetItem replaces item i of an array; i equal to the length appends.
func (v *Value) SetItem(i int, value *Value) {
	v.raw = ""
	if i == len(v.items) {
		v.items = append(v.items, value)
		return
	}
	v.items[i] = value
}

// Touch drops the text as written, for a caller that is about to change something below v.
func (v *Value) Touch() {
	if v.kind == Array || v.kind == Object {
		v.raw = ""
	}
}

// AppendJSON appends the value on one line: as written if it was parsed and not changed, else
// without spaces.
func (v *Value) AppendJSON(dst []byte) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	if v.raw != "" && !strings.ContainsAny(v.raw, "\r\n") {
		return append(dst, v.raw...)
	}
	if v.kind == Array {
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, m := range v.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.rawName...)
		dst = append(dst, ':')
		dst = m.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// String returns the text of [Value.AppendJSON].
func (v *Value) String() string { return string(v.AppendJSON(nil)) }
