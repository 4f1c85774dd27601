package proxy

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// refuse answers with an error.
func refuse(w http.ResponseWriter, code int, id jsonrpc.ID, err *jsonrpc.Error) {
	writeJSON(w, code, jsonrpc.Response{ID: id, Error: err}.AppendJSON(nil))
}

// unavailable answers a request for which there is no room now.
func unavailable(w http.ResponseWriter, id jsonrpc.ID, text string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(stopTime/time.Second)))
	refuse(w, http.StatusServiceUnavailable, id, jsonrpc.NewError(codeFailed, text, Failure{
		Kind: "overloaded", Delivery: "not-sent", Retryable: true, RetryAfterMs: stopTime.Milliseconds(),
	}))
}

func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	setDeadline(http.NewResponseController(w))
	w.WriteHeader(code)
	_, _ = w.Write(body) // if it fails, nobody is left to tell
}

// writeWithin is how long the host's connection may refuse to take what is written.
const writeWithin = 30 * time.Second

// setDeadline bounds the next write. A server whose connections have no deadlines keeps its own.
func setDeadline(out *http.ResponseController) {
	_ = out.SetWriteDeadline(time.Now().Add(writeWithin))
}

// status returns the HTTP status of a response. In the session era an error is a response like
// any other, and 404 would end the session.
func status(v mcp.Version, resp jsonrpc.Response) int {
	if resp.Error == nil || v.Era() != mcp.EraStateless {
		return http.StatusOK
	}
	switch resp.Error.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func noMethod(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "this method is not allowed here", http.StatusMethodNotAllowed)
}
