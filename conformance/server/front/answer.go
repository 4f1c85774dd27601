package front

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// fault is the answer to a message that cannot be passed on. It is a value,
// not an error of this process: the peer broke the rules. A nil err is a bad
// notification, which JSON-RPC lets nobody answer.
type fault struct {
	id  json.RawMessage // nil is written as null
	err *jsonrpc.Error
}

func invalidRequest(id json.RawMessage, reason, format string, args ...any) *fault {
	return &fault{id: id, err: rpcError(jsonrpc.CodeInvalidRequest, "Invalid Request: "+fmt.Sprintf(format, args...), map[string]any{"reason": reason})}
}

func rpcError(code int64, text string, data map[string]any) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: code, Message: text}
	if data != nil {
		e.Data, _ = json.Marshal(data) // strings and ints: cannot fail
	}
	return e
}

// encode returns f as a response line or body, without a newline.
func (f *fault) encode() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	wire := *f.err
	if !json.Valid(wire.Data) { // go-sdk itself writes such data for odd URIs
		wire.Data = nil
	}
	b, _ := json.Marshal(struct { // every part is valid JSON: cannot fail
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", id, wire})
	return b
}

// methodFault is the answer to a request for a method the server lacks.
func methodFault(m *message) *fault {
	return &fault{id: m.id, err: rpcError(jsonrpc.CodeMethodNotFound, "Method not found: "+clip(m.method), map[string]any{"method": clip(m.method)})}
}

// notInitialized is the answer to a call before the handshake.
func notInitialized(id json.RawMessage) *fault {
	return invalidRequest(id, "not_initialized", "server not initialized")
}

// duplicateID is the answer to a request whose id another one still has.
func duplicateID(id json.RawMessage) *fault {
	return invalidRequest(id, "duplicate_id", "id is already in use")
}

// canonicalID writes equal ids in equal bytes.
func canonicalID(id json.RawMessage) json.RawMessage {
	var s string
	if id[0] != '"' || json.Unmarshal(id, &s) != nil {
		return id
	}
	out, err := json.Marshal(s)
	if err != nil {
		return id
	}
	return out
}

// encodeResponse writes resp with the id as the peer wrote it.
func encodeResponse(id json.RawMessage, resp *jsonrpc.Response) []byte {
	if resp.Error != nil {
		return (&fault{id: id, err: wireError(resp.Error)}).encode()
	}
	b, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
	}{"2.0", id, resp.Result})
	if err != nil {
		return (&fault{id: id, err: rpcError(jsonrpc.CodeInternalError, "Internal error: result is not JSON", nil)}).encode()
	}
	return b
}

// wireError finds the code in err. go-sdk sends 0 where there is none.
func wireError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) && e.Code != 0 {
		return &jsonrpc.Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

func tooLarge(id json.RawMessage, limit int) *fault {
	f := invalidRequest(id, "too_large", "message is larger than %d bytes", limit)
	f.err = rpcError(f.err.Code, f.err.Message, map[string]any{"reason": "too_large", "limit": limit})
	return f
}
