package clientsuite

import (
	"encoding/base64"
	"strings"
)

// The marks of a header value that is encoded.
const (
	encodedBegin = "=?base64?"
	encodedEnd   = "?="
)

// decodeHeader reads a header value as the stateless era writes it; false for one
// that had to be encoded and was not, or is encoded badly.
func decodeHeader(value string) (string, bool) {
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
