package artifact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// placeholders returns the distinct placeholder ids of a type in the order in
// which they first appear.
func placeholders(text, prefix string) []string {
	var out []string
	seen := make(map[string]bool)
	eachPlaceholder(text, func(start, end int) {
		id := text[start:end]
		if p, _, _ := strings.Cut(id, "-"); p == prefix && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	})
	return out
}

// replacePlaceholders replaces every whole-token occurrence of a placeholder
// in mapping, wherever in the text it stands.
func replacePlaceholders(text string, mapping map[string]string) string {
	var out strings.Builder
	last := 0
	eachPlaceholder(text, func(start, end int) {
		if id, ok := mapping[text[start:end]]; ok {
			out.WriteString(text[last:start])
			out.WriteString(id)
			last = end
		}
	})
	out.WriteString(text[last:])
	return out.String()
}

func eachPlaceholder(text string, found func(start, end int)) {
	at := 0
	for start, rest := range prefixed(text) {
		if start < at || !capitals(text[rest:]) {
			continue
		}
		end := rest + 3
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inToken(before) && !inToken(after) {
			found(start, end)
			at = end
		}
	}
}

// inToken reports whether r makes a longer word of the placeholder beside it.
func inToken(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
