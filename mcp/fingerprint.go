package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Definition returns the tool as canonical JSON: with sorted names, without white
// space, and with unchanged numbers. It omits _meta, which may differ from list to
// list. The error reports a raw member that is not valid JSON; tools that a client
// received have none.
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

// Fingerprint returns "sha256:" and the digest of [Tool.Definition] in hex, or "" if
// that fails. It does not depend on the machine, or on the order and white space in
// which a server sends the definition. Store it to detect tools that change after
// they were approved.
func (v *Tool) Fingerprint() string {
	definition, err := v.Definition()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(definition)
	return FingerprintPrefix + hex.EncodeToString(sum[:])
}

// FingerprintPrefix begins every fingerprint and names its algorithm.
const FingerprintPrefix = "sha256:"
