// Package rawjson reads and writes JSON values that are kept as bytes: what a server
// sent is judged as it was spelled.
package rawjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// IsArray reports whether a value is an array.
func IsArray(data []byte) bool { return len(data) > 0 && data[0] == '[' }

// IsString reports whether a value is a string.
func IsString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// IsObject reports whether a value is an object.
func IsObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// IsInteger takes every spelling of an integer: 1, 1.0 and 1e2 are the same
// number to JSON.
func IsInteger(raw json.RawMessage) bool {
	if len(raw) == 0 || len(raw) > 40 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false
	}
	r, ok := new(big.Rat).SetString(string(raw))
	return ok && r.IsInt()
}

// IsID reports whether a value can be the id of a request.
func IsID(raw json.RawMessage) bool { return IsString(raw) || IsInteger(raw) }

// OrAbsent shows a value in at most 60 bytes.
func OrAbsent(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "absent"
	}
	return Clip(string(raw), 60)
}

// Encode writes a value the suite made itself.
func Encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("conformance: a message that cannot be written: %v", err)) //nolint:forbidigo // a bug in a scenario, which its own test meets
	}
	return data
}

// Clip cuts text to n bytes at a rune.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}

// Object reads a JSON object; ok is false for anything else.
func Object(raw json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, false
	}
	return members, true
}

// Text reads a JSON string, "" for anything else.
func Text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// SortedKeys returns the keys of a map, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
