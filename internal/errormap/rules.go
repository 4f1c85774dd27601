package errormap

import (
	"slices"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// rule is the meaning of an error.
type rule struct {
	code mcperrors.Code
	kind mcperrors.Kind
	// user and action are texts for the end user, "" for those of the catalogue.
	user, action string
	retryable    bool
	// fixed is set if the data of the error cannot change retryable.
	fixed bool
	after time.Duration
}

// codeRule returns the general rule of a JSON-RPC code.
func codeRule(code int64) rule {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindProtocol}
	case jsonrpc.CodeMethodNotFound:
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindUnsupported}
	case jsonrpc.CodeInvalidParams:
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments, user: "Invalid parameters", action: "Check the parameters"}
	case jsonrpc.CodeInternalError, -32000: // a common convention for server errors
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, user: "The server failed", retryable: true}
	}
	r := rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindApp, user: "An unexpected error occurred", action: "Try again later", retryable: true}
	if code >= -32768 && code <= -32000 {
		r.kind = mcperrors.KindServer
	}
	return r
}

// with returns r with the changes of a profile. Zero and invalid members of m change nothing.
func (r rule) with(m mcperrors.Meaning) rule {
	if entry, ok := mcperrors.Lookup(m.Code); ok {
		kind := r.kind
		if m.Code != r.code {
			kind = kindOf(m.Code)
		}
		r = rule{code: m.Code, kind: kind, retryable: entry.Retryable}
	}
	if slices.Contains(serverKinds[:], m.Kind) {
		r.kind = m.Kind
	}
	if m.UserMessage != "" {
		r.user = m.UserMessage
	}
	if m.SuggestedAction != "" {
		r.action = m.SuggestedAction
	}
	if m.Retryable != nil {
		r.retryable, r.fixed = *m.Retryable, true
	}
	r.after = min(max(m.RetryAfter, 0), maxRetryAfter)
	return r
}

// serverKinds are the kinds that a profile can set. The others describe the client, the
// connection or an MCP session.
var serverKinds = [...]mcperrors.Kind{
	mcperrors.KindServer, mcperrors.KindTimeout, mcperrors.KindAuth, mcperrors.KindProtocol, mcperrors.KindVersion, mcperrors.KindUnsupported,
	mcperrors.KindNotFound, mcperrors.KindInvalidArguments, mcperrors.KindOverloaded, mcperrors.KindApp,
}

// kindOf returns the kind of an error with a code.
func kindOf(code mcperrors.Code) mcperrors.Kind {
	switch code { //nolint:exhaustive // the catalogue decides about the others
	case mcperrors.CodeTimeout:
		return mcperrors.KindTimeout
	case mcperrors.CodeInvalidRequest:
		return mcperrors.KindInvalidArguments
	case mcperrors.CodeToolNotFound, mcperrors.CodeResourceNotFound:
		return mcperrors.KindNotFound
	case mcperrors.CodeMissingCapability, mcperrors.CodeIncompatible:
		return mcperrors.KindUnsupported
	case mcperrors.CodePermissionDenied:
		return mcperrors.KindAuth
	case mcperrors.CodeRateLimited:
		return mcperrors.KindOverloaded
	}
	if entry, _ := mcperrors.Lookup(code); entry.Retryable {
		return mcperrors.KindServer
	}
	return mcperrors.KindApp
}

// apply returns the error for a rule and the hints in the error's data.
func (r rule) apply(h hints, o Options) *mcperrors.Error {
	e := mcperrors.New(r.code, r.kind, mcperrors.Answered, "", nil)
	e.Server, e.Method, e.Tool, e.RequestID = o.Server, o.Method, o.Tool, o.RequestID
	if r.user != "" {
		e.UserMessage = r.user
	}
	retryable, action := r.retryable, r.action
	if h.retryable != nil && *h.retryable != retryable && !r.fixed {
		retryable, action = *h.retryable, ""
	}
	if r.code == mcperrors.CodeIncompatible { // a retry meets the same server and client
		retryable, action = false, r.action
	}
	if action == "" && retryable != e.Retryable {
		action = "Read what the server says"
		if retryable {
			action = "Try again"
		}
	}
	if action != "" {
		e.SuggestedAction = action
	}
	if e.Retryable = retryable; retryable {
		if e.RetryAfter = r.after; e.RetryAfter == 0 {
			e.RetryAfter = h.after
		}
	}
	return e
}

// protocolRule returns the rule of an error that MCP defines. It takes precedence over the
// profile.
func protocolRule(rpc *jsonrpc.Error, o Options) (rule, bool) {
	switch rpc.Code {
	case mcp.CodeHeaderMismatch:
		return rule{code: mcperrors.CodeIncompatible, kind: mcperrors.KindProtocol}, true
	case mcp.CodeMissingRequiredClientCapability:
		return rule{code: mcperrors.CodeIncompatible, kind: mcperrors.KindUnsupported}, true
	case mcp.CodeUnsupportedProtocolVersion:
		return rule{code: mcperrors.CodeIncompatible, kind: mcperrors.KindVersion}, true
	case mcp.CodeURLElicitationRequired:
		if !o.NoElicitationCode {
			// The same call would be rejected again.
			return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindInputRequired, user: "More information is needed", action: "Answer what the server asks"}, true
		}
	case mcp.CodeResourceNotFound, jsonrpc.CodeInvalidParams: // InvalidParams in the stateless era
		if o.Method == mcp.MethodResourcesRead && (rpc.Code != jsonrpc.CodeInvalidParams || saysNoResource(rpc, o.Resource)) {
			return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
		}
	}
	if rpc.Code == jsonrpc.CodeInvalidParams && strings.HasPrefix(o.Method, "tasks/") && o.Method != "tasks/list" {
		// Only the id can be wrong: unknown, or expired (tasks, "Protocol Errors").
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindNotFound, user: "The task does not exist any more"}, true
	}
	if (rpc.Code == jsonrpc.CodeInvalidParams || rpc.Code == jsonrpc.CodeMethodNotFound) &&
		(o.Method == mcp.MethodToolsCall || o.Method == "") && saysUnknownTool(rpc.Message, o.Tool) {
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindNotFound}, true
	}
	return rule{}, false
}

// saysNoResource distinguishes a missing resource from invalid parameters, which have the same
// code in the stateless era: the data repeat the URI, or the message has certain words.
func saysNoResource(rpc *jsonrpc.Error, uri string) bool {
	var data struct {
		URI string `json:"uri"`
	}
	if uri != "" && jsonrpc.Unmarshal(rpc.Data, &data) == nil && data.URI == uri {
		return true
	}
	message := strings.ToLower(rpc.Message)
	for _, words := range []string{"not found", "unknown resource", "no such", "does not exist"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// saysUnknownTool reports whether a message is about an unknown tool. A message without a name
// counts, too, but proves nothing; see deliveryOf.
func saysUnknownTool(message, tool string) bool {
	message = strings.TrimSpace(message)
	return unknownTool(message, tool) || strings.EqualFold(message, "unknown tool") || strings.EqualFold(message, "tool not found")
}

// unknownTool reports whether a message is one of the sentences that servers send for an
// unknown tool of this name: the specification's example, and those of the SDKs.
func unknownTool(message, tool string) bool {
	if tool == "" {
		return false
	}
	for _, prefix := range []string{"MCP error -32602: ", "MCP error -32601: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	for _, sentence := range [...]struct{ before, after string }{
		{"unknown tool: ", ""},
		{"unknown tool ", ""},
		{"tool not found: ", ""},
		{"tool ", " not found"},
		{"tool ", " not found: tool not found"},
	} {
		rest, ok := cutFold(message, sentence.before)
		name, fits := strings.CutSuffix(rest, sentence.after)
		if ok && fits && (name == tool || name == `"`+tool+`"` || name == "'"+tool+"'") {
			return true
		}
	}
	return false
}

// cutFold is [strings.CutPrefix] that ignores case.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
