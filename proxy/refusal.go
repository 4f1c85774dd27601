package proxy

import (
	"errors"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// codeFailed is the code of failures that no server answered with, except for tool calls.
const codeFailed = -32000

// Failure says why a request of a host was not answered by the server. It is the data of
// a JSON-RPC error with code -32000, and in _meta of the result of a tool call under
// "io.github.mainstay-mcp/failure".
type Failure struct {
	// Code and Kind are those of the error of the client.
	Code string `json:"code,omitempty"`
	Kind string `json:"kind"`
	// Delivery is "not-sent", "rejected", "unknown" or "answered".
	Delivery string `json:"delivery"`
	// Retryable reports whether a later attempt may succeed and, for a call of a tool, whether the
	// tool did not run. RetryAfterMs is the time to wait before it, 0 if that is unknown.
	Retryable    bool  `json:"retryable"`
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
}

func invalidRequest(text string) *jsonrpc.Error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: "+text, nil)
}

func mismatch(text string) *jsonrpc.Error {
	return jsonrpc.NewError(mcp.CodeHeaderMismatch, "Header mismatch: "+text, nil)
}

func unsupported(v mcp.Version) *jsonrpc.Error {
	return jsonrpc.NewError(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
		mcp.UnsupportedVersionData{Supported: versionNames(), Requested: string(v)})
}

// versionNames are the revisions that hosts can speak.
func versionNames() []string {
	var names []string
	for _, v := range mcp.Versions() {
		names = append(names, string(v))
	}
	return names
}

func invalidParams(member string, err error) error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+member+": "+err.Error(), nil)
}

// overloaded is the error of a request that exceeds a bound of the proxy.
func overloaded(text string) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, text, nil)
	e.Retryable = true
	return e
}

func errEnding() error {
	return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "the proxy is ending", nil)
}

// faultOf returns the answer to what is no message: err is a [*jsonrpc.DecodeError].
func faultOf(err error) (id jsonrpc.ID, fault *jsonrpc.Error) {
	var e *jsonrpc.DecodeError
	if !errors.As(err, &e) {
		return id, invalidRequest(err.Error())
	}
	code, text := int64(jsonrpc.CodeInvalidRequest), "Invalid Request: "
	if e.Syntax {
		code, text = jsonrpc.CodeParseError, "Parse error: "
	}
	if id = e.ID; e.Syntax {
		id = jsonrpc.ID{} // JSON-RPC 2.0 section 5: it could not be read
	}
	return id, jsonrpc.NewError(code, text+e.Reason, nil)
}
