package grant

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes untrusted text fit for a terminal and a log. It replaces control, format and
// invalid characters by blanks, and cuts the text after limit bytes.
func printable(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = ' '
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// visible reports whether s has only visible ASCII characters and at least one, so that a header
// can carry it unchanged.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
