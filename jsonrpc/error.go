package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Codes of JSON-RPC 2.0. Servers and MCP define the codes from -32099 to -32000;
// applications define all others.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// Error is the error member of a response. Match it by code: errors.Is(err,
// &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}).
type Error struct {
	// Code may be any integer. Peers also use codes outside the reserved range.
	Code int64
	// Message is the untrusted text of the peer. It may contain control
	// characters.
	Message string
	// Data is the raw data member, nil if absent.
	Data json.RawMessage
}

// NewError returns an error for a response. It encodes data with [Marshal]. nil
// data, and data that cannot be encoded, is omitted.
func NewError(code int64, message string, data any) *Error {
	e := &Error{Code: code, Message: message}
	if data != nil {
		if raw, err := Marshal(data); err == nil {
			e.Data = raw
		}
	}
	return e
}

// Error returns the text of the peer, shortened and without control characters.
// Message has the original.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d)", Printable(e.Message, 500), e.Code)
}

// Is matches errors by code. It ignores message and data.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// AppendJSON appends the error object.
func (e *Error) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = appendInt(dst, e.Code)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// MarshalJSON implements [encoding/json.Marshaler].
func (e *Error) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON implements [encoding/json.Unmarshaler] with the strict rules of
// [Decode].
func (e *Error) UnmarshalJSON(data []byte) error {
	got, err := decodeError(data)
	if err != nil {
		return err
	}
	*e = *got
	return nil
}

// Errors of [Decode]; each matches one of them.
var (
	// ErrInvalid: the bytes are not one JSON-RPC message.
	ErrInvalid = errors.New("not a JSON-RPC message")
	// ErrTooLarge: the message is over a limit of this side. It may be valid.
	ErrTooLarge = errors.New("a message over a limit")
)

// DecodeError explains why a message was rejected. It matches [ErrTooLarge] if
// a limit was exceeded, and [ErrInvalid] otherwise.
type DecodeError struct {
	// Reason describes the fault, for people.
	Reason string
	// Syntax reports that the bytes are not JSON. If it is false, they are JSON
	// but not a message.
	Syntax bool
	// TooLarge reports that a limit was exceeded: the size, the depth, or the
	// number of messages in a batch. Nested reports that it was the depth.
	TooLarge, Nested bool
	// ID is the id of the message if it could be read, so that the call that it
	// answers can fail at once.
	ID ID
	// Head is the start of the invalid bytes, at most 200 of them.
	Head []byte

	// request is set for a request, whose ID is the peer's own. marked is set if
	// the text has a member "jsonrpc", so that it is meant as a message.
	request, marked bool
}

func (e *DecodeError) Error() string {
	if e.TooLarge {
		return "a message over a limit: " + e.Reason
	}
	if len(e.Head) == 0 {
		return "not a JSON-RPC message: " + e.Reason
	}
	return "not a JSON-RPC message: " + e.Reason + ": " + Printable(string(e.Head), 200)
}

// Answers reports whether ID is the id of the call that the message answers.
func (e *DecodeError) Answers() bool { return !e.ID.IsZero() && !e.request }

// Unwrap returns [ErrInvalid] or [ErrTooLarge].
func (e *DecodeError) Unwrap() error {
	if e.TooLarge {
		return ErrTooLarge
	}
	return ErrInvalid
}

// Size formats a number of bytes: 16 MiB, 64 KiB, 1000 bytes.
func Size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
