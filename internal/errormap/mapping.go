package errormap

import (
	"cmp"
	"encoding/json"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Options has what is known about a call besides the server's error.
type Options struct {
	// Server, Method, Tool and RequestID are copied to the error. Method and Tool also decide the
	// meaning of some codes.
	Server, Method, Tool, RequestID string
	// Resource is the tool, prompt, URI or task of the request.
	Resource string
	// Profile is the profile that the application has set, or nil. It must not panic.
	Profile mcperrors.Profile
	// Refused is set if -32020, -32021 or -32022 is true for the request: it was of revision
	// 2026-07-28, and was rejected before it ran. Otherwise the code may come from a tool that
	// has run.
	Refused bool
	// NoElicitationCode is set if the negotiated revision does not define -32042, which is then a
	// code of the server's own.
	NoElicitationCode bool
}

// FromRPC returns the error of a call for the server's JSON-RPC error.
func FromRPC(rpc *jsonrpc.Error, o Options) *mcperrors.Error {
	e, _ := ReadRPC(rpc, o)
	return e
}

// ReadRPC is [FromRPC] that also reports whether circuits count the error as a failure. Message
// is the server's, OriginalMCPCode its code. The profile takes precedence over the general rules,
// except for errors that MCP defines. A retryable member in the error's data overrides the code's
// default, except for E209, which is never retryable. rpc must not be nil.
func ReadRPC(rpc *jsonrpc.Error, o Options) (e *mcperrors.Error, counts bool) {
	delivery := deliveryOf(rpc, o)
	r, defined := protocolRule(rpc, o)
	if !defined {
		m := o.meaning(mcperrors.Report{RPC: rpc})
		r = codeRule(rpc.Code).with(m)
		if counts = m.Counts; m.Rejected {
			delivery = mcperrors.Rejected
		}
	}
	code := rpc.Code
	e = r.apply(readHints(rpc.Data), o)
	e.Message, e.RPC, e.OriginalMCPCode, e.Delivery = rpc.Message, rpc, &code, delivery
	return e, counts
}

// FromTool returns the error for a tool's result with isError: true. text is the text of the
// result, structured its structuredContent, nil if absent.
func FromTool(text string, structured json.RawMessage, o Options) *mcperrors.Error {
	e, _ := ReadTool(text, structured, o)
	return e
}

// ReadTool is [FromTool] that also reports whether circuits count the result as a failure. The
// error's kind is always [mcperrors.KindTool]: the server works, and the tool reported an error.
// Without a rule of the profile, the code is E201 and not retryable, because the same call would
// end the same way.
func ReadTool(text string, structured json.RawMessage, o Options) (e *mcperrors.Error, counts bool) {
	m := o.meaning(mcperrors.Report{Text: text, Structured: structured})
	r := rule{code: mcperrors.CodeUnavailable, user: "The tool reported an error", action: "Read what the tool says"}.with(m)
	h := readHints(structured)
	if !h.envelope && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if inText := readHints(json.RawMessage(text)); inText.envelope {
			h = inText
		}
	}
	e = r.apply(hints{}, o) // the content may come from a third party
	e.Kind = mcperrors.KindTool
	if m.Rejected {
		e.Delivery = mcperrors.Rejected
	}
	e.Message = cmp.Or(h.message, text)
	if h.recovery != "" {
		e.SuggestedAction = jsonrpc.Printable(h.recovery, 200)
	}
	return e, m.Counts
}

// meaning asks the profile about an error. Profiles do not apply to requests that the client
// sends on its own.
func (o *Options) meaning(r mcperrors.Report) mcperrors.Meaning {
	switch o.Method {
	case mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing:
		return mcperrors.Meaning{}
	}
	if o.Profile == nil {
		return mcperrors.Meaning{}
	}
	r.Method, r.Name = o.Method, cmp.Or(o.Tool, o.Resource)
	return o.Profile.Meaning(r)
}

// deliveryOf returns whether a JSON-RPC error proves that the server rejected the request before
// it ran anything. A code alone proves nothing, because servers pass on the errors of their
// tools. The TypeScript SDK sends any code that a tool throws, even the client's own -32601 to
// roots/list, and the Go SDK turns that into `method not found: "tools/call"` after the tool has
// run. So the message must have the tool's name.
func deliveryOf(rpc *jsonrpc.Error, o Options) mcperrors.Delivery {
	switch rpc.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
		if o.Method == mcp.MethodToolsCall && unknownTool(rpc.Message, o.Tool) {
			return mcperrors.Rejected
		}
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		if o.Refused {
			return mcperrors.Rejected
		}
	}
	return mcperrors.Answered
}
