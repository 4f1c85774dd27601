package transport

import (
	"encoding/base64"
	"strings"
)

// The marks around a header value in base64 form.
const (
	headerMarkOpen  = "=?base64?"
	headerMarkClose = "?="
)

// headerValue returns the form in which a header repeats a value of a message
// in the stateless era: unchanged if it is visible ASCII with blanks only
// inside, else base64 between marks. A value that looks like base64 between
// marks is encoded too.
func headerValue(value string) string {
	if isPlainHeaderValue(value) {
		return value
	}
	return headerMarkOpen + base64.StdEncoding.EncodeToString([]byte(value)) + headerMarkClose
}

func isPlainHeaderValue(value string) bool {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	if value != "" && (value[0] == ' ' || value[len(value)-1] == ' ') {
		return false
	}
	return !strings.HasPrefix(value, headerMarkOpen) || !strings.HasSuffix(value, headerMarkClose)
}
