// Package family knows the families of tools whose errors have a form of their own.
package family

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// The error profiles whose errors have a form of their own (tools.md §1.2).
const (
	Artifact   = "artifact"
	COE        = "coe"
	Docling    = "docling"
	Preflights = "preflights"
	Assistant  = "assistant"
)

// codeBadRequest is how the numeric tools of coe refuse an argument.
const codeBadRequest = 400

// InvalidArgument reports whether a is how a family refuses an argument. Any
// may answer -32602; a server without profiles may also answer a result with
// isError (TOOL-12).
func InvalidArgument(family string, a wire.Answer) bool {
	if a.Err != nil {
		return a.Err.Code == wire.CodeInvalidParams || a.Err.Code == wire.CodeHeader || family == COE && a.Err.Code == codeBadRequest
	}
	switch family {
	case Artifact, Docling:
		return false
	case COE:
		return slices.Contains([]string{"INVALID_PARAM", "SCHEMA_VALIDATION_FAILED", "TOKEN_LIMIT_EXCEEDED", "INVALID_FILTER"}, envelopeCode(a))
	case Preflights:
		return envelopeCode(a) == "VALIDATION_FAILED"
	}
	return true
}

// envelopeCode returns the error code in the payload of a result, "" for none.
func envelopeCode(a wire.Answer) string {
	var result struct {
		Content []struct{ Text string } `json:"content"`
	}
	if json.Unmarshal(a.Result, &result) != nil || len(result.Content) == 0 {
		return ""
	}
	payload, _ := rawjson.Object(json.RawMessage(result.Content[0].Text))
	inner, ok := rawjson.Object(payload["error"])
	if !ok {
		inner = payload
	}
	return rawjson.Text(inner["code"])
}
