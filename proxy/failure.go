package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// codeFailed is the code of failures that no server answered with, except for tool calls.
const codeFailed = -32000

// metaFailure is the key in _meta of a tool's result that is a failure of the way there.
const metaFailure = "io.github.mainstay-mcp/failure"

// Failure says why a request of a host was not answered by the server. It is the data of
// a JSON-RPC error with code -32000, and in _meta of the result of a tool call under
// "io.github.mainstay-mcp/failure".
type Failure struct {
	// Code and Kind are those of the error of the client.
	Code string `json:"code,omitempty"`
	Kind string `json:"kind"`
	// Delivery is "not-sent", "rejected", "unknown" or "answered".
	Delivery string `json:"delivery"`
	// Retryable reports whether a later attempt may succeed, RetryAfterMs after how many
	// milliseconds, 0 if that is unknown.
	Retryable    bool  `json:"retryable"`
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
}

// failure returns the answer for a request that failed: the server's own error unchanged, for
// a tool call a result that a model can act on, and else an error.
func failure(r *request, server mcp.Era, err error) (json.RawMessage, *jsonrpc.Error) {
	var own *mcperrors.Error
	var rpc *jsonrpc.Error
	switch {
	case !errors.As(err, &own):
		if errors.As(err, &rpc) {
			return nil, rpc
		}
		return nil, jsonrpc.NewError(codeFailed, err.Error(), nil)
	case own.RPC != nil:
		return nil, translated(own.RPC, r, server)
	case own.Kind == mcperrors.KindInvalidArguments:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, own.Message, nil)
	case own.Kind == mcperrors.KindUnsupported:
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, own.Message, nil)
	}
	f := Failure{
		Code: string(own.Code), Kind: own.Kind.String(), Delivery: own.Delivery.String(),
		Retryable: own.Retryable, RetryAfterMs: own.RetryAfter.Milliseconds(),
	}
	if r.Method != mcp.MethodToolsCall {
		return nil, jsonrpc.NewError(codeFailed, own.Error(), f)
	}
	result, _ := jsonrpc.Marshal(map[string]any{ // of strings and numbers
		"content": []map[string]any{{"type": "text", "text": advice(own)}},
		"isError": true,
		"_meta":   map[string]any{metaFailure: f},
	})
	if r.version.Era() == mcp.EraStateless {
		result = append(appendMember(result[:len(result)-1], []byte("resultType"), quoted(string(mcp.ResultComplete))), '}')
	}
	return result, nil
}

// advice tells a model what happened and what it may do.
func advice(e *mcperrors.Error) string {
	short := *e
	short.Delivery, short.RetryAfter = mcperrors.Answered, 0 // else its text has advice too
	text := short.Error()
	switch e.Delivery {
	case mcperrors.NotSent, mcperrors.Rejected:
		text = "The tool did not run: " + text + "."
		switch {
		case e.RetryAfter > 0:
			text += fmt.Sprintf(" Call it again in %v.", e.RetryAfter.Round(time.Second))
		case e.Retryable:
			text += " You may call it again."
		}
		return text
	case mcperrors.Unknown:
		return "The tool may have run: check before you call it again. " + text
	case mcperrors.Answered:
	}
	return text
}

// translated returns the error of a server with the code that the host's era has for a
// resource that does not exist.
func translated(e *jsonrpc.Error, r *request, server mcp.Era) *jsonrpc.Error {
	if server == r.version.Era() {
		return e
	}
	own := *e
	switch stateless := r.version.Era() == mcp.EraStateless; {
	case stateless && e.Code == mcp.CodeResourceNotFound:
		own.Code = jsonrpc.CodeInvalidParams
	case !stateless && e.Code == jsonrpc.CodeInvalidParams && r.Method == mcp.MethodResourcesRead && r.uri != "":
		own.Code = mcp.CodeResourceNotFound
	}
	return &own
}
