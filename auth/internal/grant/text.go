package grant

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes text of a stranger fit for a terminal and a log line: control, format and
// invalid characters become blanks, and it has at most limit bytes.
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

// visible reports whether s is not empty and has only visible ASCII characters, so that it can
// go into a header line as it is.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
