package errormap

import (
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// codeConversionStateless is what servers of the docling profile send for -32002
// in the stateless era, which forbids that (basic#error-codes).
const codeConversionStateless = -31002

// rule is what a profile makes of one code.
type rule struct {
	code mcperrors.Code
	kind mcperrors.Kind
	// user is the message for the end user, "" for the catalogue's.
	user string
	// action is the suggested action, "" for the catalogue's, or the seed's by
	// retryable where the rule differs from the catalogue.
	action    string
	retryable bool
	after     time.Duration
}

// unexpected is whatever no table knows.
func unexpected(kind mcperrors.Kind) rule {
	return rule{mcperrors.CodeUnavailable, kind, "An unexpected error occurred", actionLater, true, 0}
}

// standardRule has the five codes of JSON-RPC, which mean the same everywhere.
func standardRule(code int64) (rule, bool) {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindProtocol}, true
	case jsonrpc.CodeMethodNotFound:
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindUnsupported}, true
	case jsonrpc.CodeInvalidParams:
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments, user: "Invalid parameters"}, true
	case jsonrpc.CodeInternalError:
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, user: "Processing service error", retryable: true}, true
	}
	return rule{}, false
}

// protocolRule has what MCP says, whatever the server's family: it comes
// before the profiles.
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
			// The same call would be refused again.
			return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindInputRequired, user: "More information is needed", action: "Answer what the server asks"}, true
		}
	case mcp.CodeResourceNotFound, -32001, jsonrpc.CodeInvalidParams:
		// -32001 is how the artifact seed says it, -32602 the stateless era.
		if o.Method == methodReadResource && (rpc.Code != jsonrpc.CodeInvalidParams || saysNoResource(rpc, o.Resource)) {
			return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
		}
	}
	if rpc.Code == jsonrpc.CodeInvalidParams && strings.HasPrefix(o.Method, "tasks/") && o.Method != "tasks/list" {
		// All there is to be wrong is the id: unknown, or expired (tasks, "Protocol Errors").
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindNotFound, user: "The task is not there any more"}, true
	}
	if (rpc.Code == jsonrpc.CodeInvalidParams || rpc.Code == jsonrpc.CodeMethodNotFound) &&
		(o.Method == methodCallTool || o.Method == "") && saysUnknownTool(rpc.Message, o.Tool) {
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindNotFound}, true
	}
	return rule{}, false
}

// saysNoResource tells a resource that is not there from bad parameters, which
// have the same code in the stateless era: the data echo the URI, or the words
// say so.
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

// saysUnknownTool reports whether an error says that there is no such tool. One
// that names none does too, but proves nothing; see deliveryOf.
func saysUnknownTool(message, tool string) bool {
	message = strings.TrimSpace(message)
	return unknownTool(message, tool) || strings.EqualFold(message, "unknown tool") || strings.EqualFold(message, "tool not found")
}

// unknownTool reports whether a message is one of the sentences by which servers
// say that they have no tool of this name: the specification's example, and
// those of the SDKs.
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

// cutFold is [strings.CutPrefix] that takes capitals for small letters.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// numberRule is the profile's view of a JSON-RPC code.
func numberRule(p mcperrors.Profile, rpc *jsonrpc.Error, h hints) rule {
	if r, ok := standardRule(rpc.Code); ok {
		return r
	}
	var r rule
	var ok bool
	switch p {
	case mcperrors.Artifact:
		r, ok = artifactRule(rpc, h)
	case mcperrors.COE:
		r, ok = coeNumberRule(rpc.Code)
	case mcperrors.Plain, mcperrors.Preflights, mcperrors.Assistant:
		if rpc.Code == -32000 {
			r, ok = rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, retryable: true}, true
		}
	case mcperrors.Docling:
		r, ok = doclingRule(rpc.Code)
	}
	switch {
	case ok:
		return r
	case rpc.Code >= -32768 && rpc.Code <= -32000:
		return unexpected(mcperrors.KindServer)
	default:
		return unexpected(mcperrors.KindApp)
	}
}

func doclingRule(code int64) (rule, bool) {
	switch code {
	case -32000:
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, retryable: true}, true
	case -32001:
		return rule{code: mcperrors.CodeTimeout, kind: mcperrors.KindTimeout, retryable: true}, true
	case -32002, codeConversionStateless:
		return rule{code: mcperrors.CodeConversionFailed, kind: mcperrors.KindServer, retryable: true}, true
	case -32003:
		return rule{code: mcperrors.CodeExportFailed, kind: mcperrors.KindServer, retryable: true}, true
	}
	return rule{}, false
}

func artifactRule(rpc *jsonrpc.Error, h hints) (rule, bool) {
	switch rpc.Code {
	case -32001:
		return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
	case -32000:
		// data.reason decides; the message does where the server gives none.
		switch {
		case h.reason == "permission":
			return rule{code: mcperrors.CodePermissionDenied, kind: mcperrors.KindAuth}, true
		case h.reason == "timeout":
			return rule{code: mcperrors.CodeTimeout, kind: mcperrors.KindTimeout, retryable: true}, true
		case h.reason == "" && !h.prerequisite && strings.HasPrefix(rpc.Message, "Permission denied:"):
			return rule{code: mcperrors.CodePermissionDenied, kind: mcperrors.KindAuth}, true
		case h.reason == "" && !h.prerequisite && strings.HasPrefix(rpc.Message, "Request timeout:"):
			return rule{code: mcperrors.CodeTimeout, kind: mcperrors.KindTimeout, retryable: true}, true
		}
		return rule{code: mcperrors.CodeConflict, kind: mcperrors.KindApp}, true
	}
	return rule{}, false
}

func coeNumberRule(code int64) (rule, bool) {
	switch code {
	case 400:
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments, user: "Invalid parameters"}, true
	case 403:
		return rule{code: mcperrors.CodePermissionDenied, kind: mcperrors.KindAuth}, true
	case 404:
		return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
	case 409:
		return rule{code: mcperrors.CodeConflict, kind: mcperrors.KindApp}, true
	case 429:
		return rule{code: mcperrors.CodeRateLimited, kind: mcperrors.KindOverloaded, retryable: true}, true
	case 500:
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, user: "Processing service error", retryable: true}, true
	case 503:
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, retryable: true}, true
	}
	return rule{}, false
}

// textRule is the profile's view of a code that is a string.
func textRule(p mcperrors.Profile, code string) (rule, bool) {
	switch p {
	case mcperrors.COE:
		return coeTextRule(code)
	case mcperrors.Preflights:
		return preflightsRule(code)
	case mcperrors.Docling, mcperrors.Artifact, mcperrors.Assistant, mcperrors.Plain:
	}
	return rule{}, false
}

func coeTextRule(code string) (rule, bool) {
	switch code {
	case "INVALID_PARAM", "SCHEMA_VALIDATION_FAILED", "INVALID_FILTER", "TOKEN_LIMIT_EXCEEDED":
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments, user: "Invalid parameters"}, true
	case "TIMEOUT":
		return rule{code: mcperrors.CodeTimeout, kind: mcperrors.KindTimeout, retryable: true}, true
	case codeRateLimit:
		return rule{code: mcperrors.CodeRateLimited, kind: mcperrors.KindOverloaded, retryable: true}, true
	case "RESOURCE_NOT_FOUND":
		return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
	case "INVALID_STATE":
		return rule{code: mcperrors.CodeConflict, kind: mcperrors.KindApp}, true
	case codeDBLocked:
		return rule{code: mcperrors.CodeDatabaseUnavailable, kind: mcperrors.KindServer, retryable: true, after: 2 * time.Second}, true
	case "INTERNAL_ERROR", "ORCHESTRATOR_NOT_INITIALIZED":
		return rule{code: mcperrors.CodeUnavailable, kind: mcperrors.KindServer, user: "Processing service error"}, true
	case "AUTH_ERROR":
		return rule{code: mcperrors.CodePermissionDenied, kind: mcperrors.KindAuth}, true
	case "TOOL_NOT_FOUND":
		return rule{code: mcperrors.CodeToolNotFound, kind: mcperrors.KindNotFound}, true
	}
	return rule{}, false
}

func preflightsRule(code string) (rule, bool) {
	switch code {
	case "VALIDATION_FAILED":
		return rule{code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments, user: "Invalid parameters"}, true
	case "PARSE_ERROR":
		return rule{code: mcperrors.CodeFileCorrupted, kind: mcperrors.KindApp}, true
	case "REPO_NOT_FOUND":
		return rule{code: mcperrors.CodeResourceNotFound, kind: mcperrors.KindNotFound}, true
	case "SESSION_EXPIRED":
		return rule{code: mcperrors.CodeSessionExpired, kind: mcperrors.KindSessionLost}, true
	case "SESSION_NOT_FOUND":
		return rule{code: mcperrors.CodeSessionInvalid, kind: mcperrors.KindSessionLost}, true
	case "FILESYSTEM_ERROR":
		return rule{code: mcperrors.CodeStorageUnavailable, kind: mcperrors.KindServer, retryable: true}, true
	case "PATCH_EXTRACTION_FAILED":
		return rule{code: mcperrors.CodeConversionFailed, kind: mcperrors.KindServer, retryable: true}, true
	}
	return rule{}, false
}
