package peer

import (
	"encoding/base64"
	"strings"
)

// The marks of a header value that is encoded.
const (
	encodedBegin = "=?base64?"
	encodedEnd   = "?="
)

// DecodeHeader decodes a header value of the stateless era. It returns false for a value
// that lacks the encoding it needs, or has a wrong one.
func DecodeHeader(value string) (string, bool) {
	inner, begins := strings.CutPrefix(value, encodedBegin)
	inner, ends := strings.CutSuffix(inner, encodedEnd)
	if begins && ends {
		raw, err := base64.StdEncoding.DecodeString(inner)
		return string(raw), err == nil
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return value, false
		}
	}
	return value, strings.TrimSpace(value) == value
}
