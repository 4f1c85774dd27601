package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Definition returns what the server says the tool is, in one form: JSON with
// sorted names, without white space, numbers as they were written. _meta is left
// out, for servers put there what differs from list to list. The error says that
// a raw member is not valid JSON, which no tool of a server has.
func (v *Tool) Definition() (json.RawMessage, error) {
	bare := *v
	bare.Meta = nil
	raw, err := encode(&bare)
	if err != nil {
		return nil, err
	}
	canonical := jsontext.Value(raw)
	if err := canonical.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, err
	}
	return json.RawMessage(canonical), nil
}

// Fingerprint returns "sha256:" and the digest of [Tool.Definition] in hex, ""
// when there is none. The same definition has the same fingerprint on every
// machine, however the server orders or indents it; store it to notice a tool
// that changes after it was approved.
func (v *Tool) Fingerprint() string {
	definition, err := v.Definition()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(definition)
	return FingerprintPrefix + hex.EncodeToString(sum[:])
}

// FingerprintPrefix begins every fingerprint and names its kind.
const FingerprintPrefix = "sha256:"
