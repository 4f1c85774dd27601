package mcp

import (
	"encoding/base64"
	"errors"
	"strings"
)

// The marks around a header value in base64 form.
const (
	headerMarkOpen  = "=?base64?"
	headerMarkClose = "?="
)

// EncodeHeaderValue returns the form in which a header repeats a value of a
// message in the stateless era: as it is when it is visible
// ASCII and blanks that do not stand at its ends, else base64 between marks. A
// value that looks like that form is encoded too.
func EncodeHeaderValue(value string) string {
	if plainHeaderValue(value) {
		return value
	}
	return headerMarkOpen + base64.StdEncoding.EncodeToString([]byte(value)) + headerMarkClose
}

func plainHeaderValue(value string) bool {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	if value != "" && (value[0] == ' ' || value[len(value)-1] == ' ') {
		return false
	}
	return !markedHeaderValue(value)
}

func markedHeaderValue(value string) bool {
	return strings.HasPrefix(value, headerMarkOpen) && strings.HasSuffix(value, headerMarkClose)
}

// DecodeHeaderValue returns the value that a header repeats. Only the base64
// form can be malformed.
func DecodeHeaderValue(header string) (string, error) {
	if !markedHeaderValue(header) || len(header) < len(headerMarkOpen)+len(headerMarkClose) {
		return header, nil
	}
	text := header[len(headerMarkOpen) : len(header)-len(headerMarkClose)]
	value, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return "", errors.New("the header value is not base64 between its marks")
	}
	return string(value), nil
}
