package mcp

import "encoding/json"

// RawContent is a block of an unknown type, or of a type that is not allowed at its
// place. It never fails the call that it belongs to.
type RawContent struct {
	// Type is the block's "type" member, empty when it has none.
	Type string
	// Raw is the whole block, as received.
	Raw json.RawMessage
}

// ContentType implements [Content].
func (v *RawContent) ContentType() string { return v.Type }

// fields is never called: the codec reads and writes Raw as a whole.
func (*RawContent) fields(*codec) {}

// MarshalJSON implements [encoding/json.Marshaler].
func (v RawContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It takes an object of
// any type.
func (v *RawContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }
