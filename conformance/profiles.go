package conformance

import (
	"encoding/json"
	"slices"
)

// The error profiles whose errors have a form of their own (tools.md §1.2).
const (
	familyArtifact   = "artifact"
	familyCOE        = "coe"
	familyDocling    = "docling"
	familyPreflights = "preflights"
	familyAssistant  = "assistant"
)

// codeBadRequest is how the numeric tools of coe refuse an argument.
const codeBadRequest = 400

// invalidArgument reports whether a is how a family refuses an argument. Any
// may answer -32602; a server without profiles may also answer a result with
// isError (TOOL-12).
func invalidArgument(family string, a answer) bool {
	if a.err != nil {
		return a.err.Code == codeInvalidParams || a.err.Code == codeHeader || family == familyCOE && a.err.Code == codeBadRequest
	}
	switch family {
	case familyArtifact, familyDocling:
		return false
	case familyCOE:
		return slices.Contains([]string{"INVALID_PARAM", "SCHEMA_VALIDATION_FAILED", "TOKEN_LIMIT_EXCEEDED", "INVALID_FILTER"}, a.envelopeCode())
	case familyPreflights:
		return a.envelopeCode() == "VALIDATION_FAILED"
	}
	return true
}

// envelopeCode returns the error code in the payload of a result, "" for none.
func (a answer) envelopeCode() string {
	var result struct {
		Content []struct{ Text string } `json:"content"`
	}
	if json.Unmarshal(a.result, &result) != nil || len(result.Content) == 0 {
		return ""
	}
	payload, _ := object(json.RawMessage(result.Content[0].Text))
	inner, ok := object(payload["error"])
	if !ok {
		inner = payload
	}
	return text(inner["code"])
}
