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

// metaFailure is the key in _meta of a tool's result that is a failure of the way there.
const metaFailure = "io.github.mainstay-mcp/failure"

// failure returns the answer for a request that failed: the server's own error unchanged, for
// a tool call a result that a model can act on, and else an error.
func failure(r *request, server mcp.Era, err error) (json.RawMessage, *jsonrpc.Error) {
	if r.until != nil {
		err = r.host.timedOut(r.until, err)
	}
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
	case own.Kind == mcperrors.KindInvalidArguments && !r.checked():
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, own.Message, nil)
	case own.Kind == mcperrors.KindUnsupported:
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, own.Message, nil)
	}
	f := Failure{
		Code: string(own.Code), Kind: own.Kind.String(), Delivery: own.Delivery.String(),
		Retryable: own.Retryable && (r.Method != mcp.MethodToolsCall || mcperrors.SafeToRetry(own)), RetryAfterMs: own.RetryAfter.Milliseconds(),
	}
	r.failed = &f
	if r.host != nil && (r.host.strangers || r.host.share) {
		own = withoutProcess(own)
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

// checked reports whether invalid arguments are those of a tool, which a model can correct.
func (r *request) checked() bool {
	return r.host != nil && r.host.checkArguments && r.Method == mcp.MethodToolsCall
}

// withoutProcess returns an error without what the program wrote: that may be about the calls of
// other hosts.
func withoutProcess(e *mcperrors.Error) *mcperrors.Error {
	own := *e
	own.Process = nil
	return &own
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
