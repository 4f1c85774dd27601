package report

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes text from a server harmless on a terminal: control, format and
// direction characters become visible, line breaks become spaces.
func visible(text string) string {
	safe := func(c rune) bool { return c == ' ' || unicode.IsPrint(c) }
	if strings.IndexFunc(text, func(c rune) bool { return !safe(c) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case safe(c):
			b.WriteRune(c)
		case c == '\n' || c == '\r' || c == '\t':
			b.WriteByte(' ')
		default:
			quoted := strconv.QuoteRuneToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// shellLine joins words for a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word for a shell if necessary.
func shellWord(w string) string {
	plain := func(c rune) bool {
		return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./:=@%+,", c))
	}
	if w != "" && strings.IndexFunc(w, func(c rune) bool { return !plain(c) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// messageLimit bounds a message, in characters, that dashboards show in a line.
const messageLimit = 500

// clip shortens text to n characters, with a mark at the end.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
