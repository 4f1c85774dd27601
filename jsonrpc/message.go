package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// Message is a [Request], a [Notification] or a [Response].
type Message interface {
	// AppendJSON appends the message as one JSON object. It adds no line breaks,
	// and copies raw members unchanged.
	AppendJSON(dst []byte) []byte
	isMessage()
}

// Request asks the peer to run a method. The response has the same id. The
// member "jsonrpc" is always "2.0" and therefore has no field.
type Request struct {
	ID     ID
	Method string
	// Params is an object. nil omits the member.
	Params json.RawMessage
}

// Notification is a message without an id, which is never answered.
type Notification struct {
	Method string
	// Params is an object. nil omits the member.
	Params json.RawMessage
}

// Response answers the request with the same id. Exactly one of Result and
// Error is set.
type Response struct {
	// ID is zero only in an error for a message whose id could not be read.
	ID     ID
	Result json.RawMessage
	Error  *Error
}

func (Request) isMessage()      {}
func (Notification) isMessage() {}
func (Response) isMessage()     {}

// AppendJSON implements [Message].
func (r Request) AppendJSON(dst []byte) []byte {
	return appendParams(r.appendHead(dst), r.Params)
}

// appendHead appends the request up to, but without, its params.
func (r Request) appendHead(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = r.ID.AppendJSON(dst)
	dst = append(dst, `,"method":`...)
	return AppendString(dst, r.Method)
}

// AppendJSON implements [Message].
func (n Notification) AppendJSON(dst []byte) []byte {
	return appendParams(n.appendHead(dst), n.Params)
}

// appendHead appends the notification up to, but without, its params.
func (n Notification) appendHead(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	return AppendString(dst, n.Method)
}

// AppendJSON implements [Message]. A response with neither result nor error
// gets an empty result.
func (r Response) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = r.ID.AppendJSON(dst)
	switch {
	case r.Error != nil:
		dst = append(dst, `,"error":`...)
		dst = r.Error.AppendJSON(dst)
	case r.Result != nil:
		dst = append(dst, `,"result":`...)
		dst = append(dst, r.Result...)
	default:
		dst = append(dst, `,"result":{}`...)
	}
	return append(dst, '}')
}

// MarshalJSON implements [encoding/json.Marshaler].
func (r Request) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// MarshalJSON implements [encoding/json.Marshaler].
func (n Notification) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil), nil }

// MarshalJSON implements [encoding/json.Marshaler].
func (r Response) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

func appendParams(dst []byte, params json.RawMessage) []byte {
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// oneLine replaces line breaks in a raw value by spaces, because a line break ends a
// frame (transports, "stdio"). JSON allows both between tokens only.
func oneLine(raw json.RawMessage) json.RawMessage {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\n"), []byte(" "))
	return bytes.ReplaceAll(raw, []byte("\r"), []byte(" "))
}
