package errormap

import (
	"encoding/json"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	methodCallTool     = "tools/call"
	methodReadResource = "resources/read"
	codeDBLocked       = "DB_LOCKED"
	codeRateLimit      = "RATE_LIMIT"

	codeTooManyRequests = 429 // the number for the same
)

// Options is what is known about a call besides the server's error. The zero
// value maps by [Plain].
type Options struct {
	// Server, Method, Tool and RequestID are copied to the error. Method and Tool
	// also decide what some codes mean.
	Server, Method, Tool, RequestID string
	// Resource is the URI that resources/read was asked for.
	Resource string
	// Profile is what the application has set for the server, "" for the default;
	// see [Plain].
	Profile mcperrors.Profile
	// Refused says that what -32020, -32021 or -32022 says is true of the request:
	// it was of revision 2026-07-28, and was refused before it was run. Without it
	// they may be the codes of a tool that has run.
	Refused bool
	// NoElicitationCode says that the revision spoken gives -32042 no meaning:
	// it is a code of the server's own.
	NoElicitationCode bool
}

// FromRPC makes the error of a call from the server's JSON-RPC error: mapMCPError
// of the error catalogue. Message is the server's, OriginalMCPCode its code, and
// a retryable member in the error's data beats the table, but for E209, which is
// never retryable. An error that no table knows is a retryable E201. rpc must not be
// nil.
func FromRPC(rpc *jsonrpc.Error, o Options) *mcperrors.Error {
	h := readHints(rpc.Data)
	p := o.profile()
	r, ok := protocolRule(rpc, o)
	if !ok && h.code != "" {
		r, ok = textRule(p, h.code)
	}
	if !ok {
		r = numberRule(p, rpc, h)
	}
	code := rpc.Code
	e := r.apply(h, o)
	e.Message = rpc.Message
	e.RPC = rpc
	e.OriginalMCPCode = &code
	e.Delivery = deliveryOf(rpc, o)
	if refusedByContract(p, h.code, &code) {
		e.Delivery = mcperrors.Rejected
	}
	return e
}

// FromTool makes an error from a tool's result that has isError: true. text
// is the result's text, structured its structuredContent, nil when absent. The
// error's kind is always [KindTool]: the server works, the tool said no.
// A code in the payload maps by profile like one in a JSON-RPC
// error; without one, and by [Plain], the code is E201, not retryable, since the
// same call would end the same way.
func FromTool(text string, structured json.RawMessage, o Options) *mcperrors.Error {
	h := readHints(structured)
	if !h.envelope && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if fromText := readHints(json.RawMessage(text)); fromText.envelope {
			h = fromText
		}
	}
	p := o.profile()
	if p == mcperrors.Plain { // the payload may be anybody's text
		h = hints{message: h.message, recovery: h.recovery}
	}
	r := rule{code: mcperrors.CodeUnavailable, user: "The tool reported an error", action: "Read what the tool says"}
	switch {
	case p == mcperrors.Assistant && strings.HasPrefix(text, "Error: session context not found"):
		r = rule{code: mcperrors.CodeSessionInvalid}
	case h.code != "":
		var ok bool
		if r, ok = textRule(p, h.code); !ok {
			r = unexpected(mcperrors.KindTool)
		}
	case h.number != nil:
		r = numberRule(p, &jsonrpc.Error{Code: *h.number, Message: h.message}, h)
	}
	e := r.apply(h, o)
	e.Kind = mcperrors.KindTool
	e.OriginalMCPCode = h.number
	e.Delivery = mcperrors.Answered
	if refusedByContract(p, h.code, h.number) {
		e.Delivery = mcperrors.Rejected
	}
	if e.Message = h.message; e.Message == "" {
		e.Message = text
	}
	if h.recovery != "" {
		e.SuggestedAction = jsonrpc.Printable(h.recovery, 200)
	}
	return e
}

// apply makes an error of a rule and what the payload said.
func (r rule) apply(h hints, o Options) *mcperrors.Error {
	e := mcperrors.New(r.code, r.kind, mcperrors.Answered, "", nil)
	e.Server, e.Method, e.Tool, e.RequestID = o.Server, o.Method, o.Tool, o.RequestID
	if r.user != "" {
		e.UserMessage = r.user
	}
	retryable, action := r.retryable, r.action
	// What the two ends do not share they will not share later, whatever a server says.
	if h.retryable != nil && *h.retryable != retryable && r.code != mcperrors.CodeIncompatible {
		retryable, action = *h.retryable, ""
	}
	if action == "" && retryable != e.Retryable {
		action = actionSupport
		if retryable {
			action = actionRetry
		}
	}
	if action != "" {
		e.SuggestedAction = action
	}
	e.Retryable = retryable
	if retryable {
		if e.RetryAfter = r.after; h.after > 0 {
			e.RetryAfter = h.after
		}
	}
	return e
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
		if o.Method == methodCallTool && unknownTool(rpc.Message, o.Tool) {
			return mcperrors.Rejected
		}
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		if o.Refused {
			return mcperrors.Rejected
		}
	}
	return mcperrors.Answered
}

// refusedByContract: the COE family promises that these did nothing. Elsewhere
// the same words and numbers promise nothing: a tool may have asked too often
// of somebody else, half-way. number is nil when there is none.
func refusedByContract(p mcperrors.Profile, code string, number *int64) bool {
	return p == mcperrors.COE && (code == codeDBLocked || code == codeRateLimit || (number != nil && *number == codeTooManyRequests))
}
