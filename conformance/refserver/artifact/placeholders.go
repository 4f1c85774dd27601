package artifact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// placeholderOf finds what may be a placeholder of any type; whether it is a
// whole token is judged by its neighbours.
var placeholderOf = regexp.MustCompile(`(?:` + prefixGroup + `)-[A-Z]{3}`)

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
	for at := 0; ; {
		m := placeholderOf.FindStringIndex(text[at:])
		if m == nil {
			return
		}
		start, end := at+m[0], at+m[1]
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inToken(before) && !inToken(after) {
			found(start, end)
			at = end
			continue
		}
		// XHLS-AAA: the match may hide another that begins inside it.
		at = start + 1
	}
}

// inToken reports whether r makes a longer word of the placeholder beside it.
func inToken(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
