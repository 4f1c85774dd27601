package family

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// CodeServer is the first code of the range JSON-RPC leaves to servers; the
// artifact family uses it for permission, timeout and state errors.
const CodeServer = -32000

// CodeNotFound is the code of a missing resource in the artifact family.
const CodeNotFound = -32001

// An Error is a failure a tool answers with as a JSON-RPC error.
type Error struct {
	Code    int64
	Message string
	// Data becomes error.data; the family's profile is added to it.
	Data map[string]any
	// Err is the cause, for the log only: it never reaches the wire.
	Err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wire returns e as the JSON-RPC error of a family with the given profile.
func (e *Error) Wire(profile string) *jsonrpc.Error {
	data := map[string]any{"profile": profile}
	for k, v := range e.Data {
		data[k] = v
	}
	raw, err := json.Marshal(data)
	if err != nil { // a family put something unmarshalable into Data
		raw, _ = json.Marshal(map[string]string{"profile": profile})
	}
	return &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: raw}
}

// Invalid returns the error for a bad argument: -32602, the text after "Invalid params: ",
// data.field and data.reason.
func Invalid(field, reason, format string, args ...any) *Error {
	return &Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: "Invalid params: " + fmt.Sprintf(format, args...),
		Data:    map[string]any{"field": field, "reason": reason},
	}
}

// Internal returns the error for a failure nobody foresaw: -32603. The text
// of err is for the log; the client learns only that it happened.
func Internal(err error) *Error {
	return &Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: unexpected failure, see the server's log", Err: err}
}

func asError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
