package mcperrors

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Profile knows what the errors of an application's servers mean. Write one if your
// servers have error codes of their own, and set it with client.WithErrorProfile. The
// client ignores what a server says about the meaning of its codes.
//
// Errors that MCP defines never reach a profile, nor do the errors of initialize,
// server/discover and ping. Meaning may be called from many goroutines at once. If it
// panics, the client logs that and uses its general rules.
type Profile interface {
	// Meaning returns what an error means. The zero Meaning has no opinion.
	Meaning(r Report) Meaning
}

// ProfileFunc is a function that is a [Profile].
type ProfileFunc func(Report) Meaning

// Meaning calls f.
func (f ProfileFunc) Meaning(r Report) Meaning { return f(r) }

// Report is an error that a server answered a request with: a JSON-RPC error, or the
// result of a tool with isError set. A profile must not change what it points to.
type Report struct {
	// Method is the method of the request. Name is the tool, prompt, resource or task that
	// the request names, or empty.
	Method, Name string
	// RPC is the JSON-RPC error, or nil for the result of a tool.
	RPC *jsonrpc.Error
	// Text and Structured are the text and the structured content of the result of a tool.
	Text       string
	Structured json.RawMessage
}

// Meaning is what a [Profile] knows about an error. The general rules decide about each
// field that is zero or not valid.
type Meaning struct {
	// Code is the application code. UserMessage, SuggestedAction and Retryable are those
	// of the [Catalogue] unless they are set here.
	Code Code
	// Kind is the class of the failure. Without it, Code decides. A profile cannot set
	// kinds that describe the client or the connection, such as [KindCanceled].
	Kind Kind
	// UserMessage is a text that an end user may see, and SuggestedAction is what an end
	// user can do.
	UserMessage, SuggestedAction string
	// Retryable reports whether a later attempt may succeed. Unless it is set, the
	// "retryable" member of the data of a JSON-RPC error overrides the catalogue.
	Retryable *bool
	// RetryAfter is the time to wait before the next attempt.
	RetryAfter time.Duration
	// Rejected promises that the server did nothing. If the error is also retryable, the
	// client sends the call again, after RetryAfter. Set it only if the server keeps that
	// promise.
	Rejected bool
	// Counts reports whether circuits count the answer as a failure of its tool. By default
	// an answer is the result of its call, even if it is an error.
	Counts bool
}

// The profiles of this package.
var (
	// Plain knows nothing about codes that JSON-RPC and MCP do not define. It is the
	// default.
	Plain Profile = plain{} //nolint:gochecknoglobals // a constant
	// Docling is the error map of the document server, whose codes name failed conversions
	// and exports. Circuits count its -32603, -32000 and -32001.
	Docling Profile = docling{} //nolint:gochecknoglobals // a constant
)

type plain struct{}

// Meaning implements [Profile].
func (plain) Meaning(Report) Meaning { return Meaning{} }

type docling struct{}

// Meaning has the rows of MCP_ERROR_MAP. In the stateless era, which forbids -32002, these
// servers send -31002.
func (docling) Meaning(r Report) Meaning {
	if r.RPC == nil {
		return Meaning{}
	}
	switch r.RPC.Code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return Meaning{Code: CodeInvalidRequest, UserMessage: "Invalid request format", SuggestedAction: "Contact support"}
	case jsonrpc.CodeMethodNotFound:
		return Meaning{Code: CodeToolNotFound, UserMessage: "Requested tool not available", SuggestedAction: "Contact support"}
	case jsonrpc.CodeInvalidParams:
		return Meaning{Code: CodeInvalidRequest, UserMessage: "Invalid parameters", SuggestedAction: "Contact support"}
	case jsonrpc.CodeInternalError:
		return Meaning{Code: CodeUnavailable, UserMessage: "Processing service error", SuggestedAction: "Try again", Counts: true}
	case -32000:
		return Meaning{Code: CodeUnavailable, UserMessage: "Processing service unavailable", SuggestedAction: "Try again", Counts: true}
	case -32001:
		return Meaning{Code: CodeTimeout, UserMessage: "Request timeout", SuggestedAction: "Try again", Counts: true}
	case -32002, -31002:
		return Meaning{Code: CodeConversionFailed, UserMessage: "Document conversion failed", SuggestedAction: "Try again"}
	case -32003:
		return Meaning{Code: CodeExportFailed, UserMessage: "Export generation failed", SuggestedAction: "Try again"}
	}
	return Meaning{} // the map's default is the general rule
}
