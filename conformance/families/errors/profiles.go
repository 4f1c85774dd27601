// Package familyerrors has the error profiles of four applications: what the error codes of
// their servers mean. Pass one to client.WithErrorProfile. The profile of the document
// server is mcperrors.Docling.
package familyerrors

import (
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

const (
	invalidParameters = "Invalid parameters"
	processingError   = "Processing service error"
)

// Artifact returns the profile of the artifact server. It uses -32000 for permissions,
// timeouts and state conflicts; the members reason and prerequisite of the error's data tell
// them apart.
func Artifact() mcperrors.Profile { return mcperrors.ProfileFunc(artifact) }

// COE returns the profile of the orchestration server. It uses numbers like those of HTTP,
// and strings as codes. Its codes DB_LOCKED and RATE_LIMIT and its number 429 promise that
// the server did nothing, so the client sends such calls again.
func COE() mcperrors.Profile { return mcperrors.ProfileFunc(coe) }

// Preflights returns the profile of the preflight server, whose tools report errors in
// their results.
func Preflights() mcperrors.Profile { return mcperrors.ProfileFunc(preflights) }

// Assistant returns the profile of the assistant server, whose tools report errors as text.
func Assistant() mcperrors.Profile { return mcperrors.ProfileFunc(assistant) }

func artifact(r mcperrors.Report) mcperrors.Meaning {
	p := read(r)
	message := p.message
	if r.RPC != nil {
		message = r.RPC.Message
	}
	// data.reason decides; the message does if the server gives none.
	says := func(reason, prefix string) bool {
		return p.reason == reason || p.reason == "" && !p.prerequisite && strings.HasPrefix(message, prefix)
	}
	switch p.number {
	case -32001:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound})
	case -32000:
		switch {
		case says("permission", "Permission denied:"):
			return p.hinted(mcperrors.Meaning{Code: mcperrors.CodePermissionDenied})
		case says("timeout", "Request timeout:"):
			return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeTimeout})
		}
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeConflict})
	}
	return p.other(r)
}

func coe(r mcperrors.Report) mcperrors.Meaning {
	p := read(r)
	var m mcperrors.Meaning
	switch p.code {
	case "INVALID_PARAM", "SCHEMA_VALIDATION_FAILED", "INVALID_FILTER", "TOKEN_LIMIT_EXCEEDED":
		m = mcperrors.Meaning{Code: mcperrors.CodeInvalidRequest, UserMessage: invalidParameters}
	case "TIMEOUT":
		m = mcperrors.Meaning{Code: mcperrors.CodeTimeout}
	case "RATE_LIMIT":
		m = mcperrors.Meaning{Code: mcperrors.CodeRateLimited, Rejected: true}
	case "RESOURCE_NOT_FOUND":
		m = mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound}
	case "INVALID_STATE":
		m = mcperrors.Meaning{Code: mcperrors.CodeConflict}
	case "DB_LOCKED":
		m = mcperrors.Meaning{Code: mcperrors.CodeDatabaseUnavailable, Rejected: true, RetryAfter: 2 * time.Second}
	case "INTERNAL_ERROR", "ORCHESTRATOR_NOT_INITIALIZED":
		m = mcperrors.Meaning{Code: mcperrors.CodeUnavailable, Kind: mcperrors.KindServer, UserMessage: processingError, Retryable: new(false)}
	case "AUTH_ERROR":
		m = mcperrors.Meaning{Code: mcperrors.CodePermissionDenied}
	case "TOOL_NOT_FOUND":
		m = mcperrors.Meaning{Code: mcperrors.CodeToolNotFound}
	default:
		return coeNumber(r, p)
	}
	m.Rejected = m.Rejected || p.number == 429
	return p.hinted(m)
}

func coeNumber(r mcperrors.Report, p payload) mcperrors.Meaning {
	switch p.number {
	case 400:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeInvalidRequest, UserMessage: invalidParameters})
	case 403:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodePermissionDenied})
	case 404:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound})
	case 409:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeConflict})
	case 429:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeRateLimited, Rejected: true})
	case 500, 503:
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeUnavailable, Kind: mcperrors.KindServer, UserMessage: processingError})
	}
	return p.other(r)
}

func preflights(r mcperrors.Report) mcperrors.Meaning {
	p := read(r)
	switch p.code {
	case "VALIDATION_FAILED":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeInvalidRequest, UserMessage: invalidParameters})
	case "PARSE_ERROR":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeFileCorrupted})
	case "REPO_NOT_FOUND":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound})
	case "SESSION_EXPIRED":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeSessionExpired})
	case "SESSION_NOT_FOUND":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeSessionInvalid})
	case "FILESYSTEM_ERROR":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeStorageUnavailable})
	case "PATCH_EXTRACTION_FAILED":
		return p.hinted(mcperrors.Meaning{Code: mcperrors.CodeConversionFailed})
	}
	return p.other(r)
}

func assistant(r mcperrors.Report) mcperrors.Meaning {
	if r.RPC == nil && strings.HasPrefix(r.Text, "Error: session context not found") {
		return mcperrors.Meaning{Code: mcperrors.CodeSessionInvalid}
	}
	return read(r).other(r)
}

// other returns the meaning of a code that the family's table does not have. The general
// rules know those of JSON-RPC errors. In a result, an unknown code may pass.
func (p payload) other(r mcperrors.Report) mcperrors.Meaning {
	if r.RPC != nil || p.code == "" && p.number == 0 {
		return mcperrors.Meaning{}
	}
	m := mcperrors.Meaning{Code: mcperrors.CodeUnavailable, UserMessage: "An unexpected error occurred", SuggestedAction: "Try again later"}
	switch p.number {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams:
		m = mcperrors.Meaning{Code: mcperrors.CodeInvalidRequest, UserMessage: invalidParameters}
	case jsonrpc.CodeMethodNotFound:
		m = mcperrors.Meaning{Code: mcperrors.CodeToolNotFound}
	}
	return p.hinted(m)
}
