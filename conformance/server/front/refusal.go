package front

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Refusals returns w with the plain text, with which net/http and go-sdk refuse a request,
// made into an answer of JSON-RPC. The status is kept.
func Refusals(w http.ResponseWriter) http.ResponseWriter { return &refusals{ResponseWriter: w} }

type refusals struct {
	http.ResponseWriter
	id     json.RawMessage // of the request, once it is known
	status int             // of a refusal whose text is yet to come
}

// WriteHeader holds back the status of a refusal.
func (w *refusals) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusals) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	text := clip(strings.TrimPrefix(strings.TrimSpace(string(b)), "Bad Request: "))
	f := invalidRequest(w.id, "http", "%s", text)
	if w.status >= 500 {
		f.err = rpcError(jsonrpc.CodeInternalError, "Internal error: "+text, nil)
	}
	writeFault(w.ResponseWriter, w.status, f)
	w.status = 0
	return len(b), nil
}

// Unwrap lets [http.ResponseController] flush.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }
