package errormap

import (
	"cmp"
	"encoding/json"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Options is what is known about a call besides the server's error.
type Options struct {
	// Server, Method, Tool and RequestID are copied to the error. Method and Tool
	// also decide what some codes mean.
	Server, Method, Tool, RequestID string
	// Resource is what the request names: the tool, prompt, URI or task.
	Resource string
	// Profile is the one that the application has set, or nil. It must not panic.
	Profile mcperrors.Profile
	// Refused says that what -32020, -32021 or -32022 says is true of the request:
	// it was of revision 2026-07-28, and was refused before it was run. Without it
	// they may be the codes of a tool that has run.
	Refused bool
	// NoElicitationCode says that the revision spoken gives -32042 no meaning:
	// it is a code of the server's own.
	NoElicitationCode bool
}

// FromRPC makes the error of a call from the server's JSON-RPC error.
func FromRPC(rpc *jsonrpc.Error, o Options) *mcperrors.Error {
	e, _ := ReadRPC(rpc, o)
	return e
}

// ReadRPC is [FromRPC] that also reports whether circuits count the error as a failure.
// Message is the server's, OriginalMCPCode its code. The profile decides before the
// general rules, except about errors that MCP defines. A retryable member in the error's
// data overrides the code's default, except for E209, which is never retryable. rpc must
// not be nil.
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

// FromTool makes an error from a tool's result that has isError: true. text
// is the result's text, structured its structuredContent, nil when absent.
func FromTool(text string, structured json.RawMessage, o Options) *mcperrors.Error {
	e, _ := ReadTool(text, structured, o)
	return e
}

// ReadTool is [FromTool] that also reports whether circuits count the result as a failure.
// The error's kind is always [mcperrors.KindTool]: the server works, and the tool reported
// an error. Without a profile that knows better, the code is E201 and not retryable,
// because the same call would end the same way.
func ReadTool(text string, structured json.RawMessage, o Options) (e *mcperrors.Error, counts bool) {
	m := o.meaning(mcperrors.Report{Text: text, Structured: structured})
	r := rule{code: mcperrors.CodeUnavailable, user: "The tool reported an error", action: "Read what the tool says"}.with(m)
	h := readHints(structured)
	if !h.envelope && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if inText := readHints(json.RawMessage(text)); inText.envelope {
			h = inText
		}
	}
	e = r.apply(hints{}, o) // the content may be the text of a third party
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

// meaning asks the profile about an error. What the client sends on its own is about
// the protocol, and no profile knows more.
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

// deliveryOf tells from a JSON-RPC error whether the server refused before it
// did anything. A code alone proves nothing: servers hand on what their tools
// throw. The TypeScript SDK sends any code a tool throws, our own -32601 to its
// roots/list among them, and the Go SDK makes `method not found: "tools/call"` of
// that after the tool has run. So a name has to be in it, and it has to be the
// tool's.
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
