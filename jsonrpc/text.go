package jsonrpc

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonSpace is what JSON takes for white space, which is less than Unicode does.
const jsonSpace = " \t\r\n"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if isPlain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	// The error only reports invalid UTF-8, which has been replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func appendInt(dst []byte, i int64) []byte { return strconv.AppendInt(dst, i, 10) }

// Printable makes a peer's text safe to show: control, format and bidirectional
// characters become U+FFFD, line breaks become spaces, and anything over limit
// runes is cut with an ellipsis.
func Printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteRune('…')
			break
		}
		n++
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
