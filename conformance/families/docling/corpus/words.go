package corpus

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// CountWords returns the words of text and how often each occurs.
//
// Both sides of a comparison go through the same steps:
//   - NFKC: ligatures, full-width letters and Arabic presentation forms become letters.
//   - Lower case.
//   - Format characters (soft hyphens, joiners, marks of direction) are dropped.
//   - A hyphen inside a word is dropped, with a line end after it: a program cannot know
//     whether "well-" at a line end was "well-known" or one word.
//   - A word is a run of letters, digits and marks. Everything else separates.
//   - Han characters, Japanese kana and Thai letters with their marks are words of their
//     own, because those scripts have no spaces.
func CountWords(text string) map[string]int {
	words := map[string]int{}
	for _, w := range Words(text) {
		words[w]++
	}
	return words
}

// Words returns the words that [CountWords] counts, in order.
func Words(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = nil
		}
	}
	runes := []rune(normal(text))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case alone(r):
			end()
			word = append(word, r)
			if i+1 == len(runes) || !unicode.IsMark(runes[i+1]) {
				end()
			}
		case unicode.IsLetter(r), unicode.IsNumber(r):
			if len(word) > 0 && alone(word[0]) {
				end()
			}
			word = append(word, r)
		case unicode.IsMark(r) && len(word) > 0:
			word = append(word, r)
		case hyphen(r) && len(word) > 0 && continues(runes[i+1:]) > 0:
			i += continues(runes[i+1:]) - 1
		default:
			end()
		}
	}
	end()
	return words
}

// normal takes the first three steps. Letters in lower case, or next to each other when a
// joiner is gone, may compose again: J with a caron has no letter of its own, j has.
func normal(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return norm.NFKC.String(strings.ToLower(text))
}

// alone reports whether r is a word of its own.
func alone(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || unicode.Is(unicode.Thai, r) && unicode.IsLetter(r)
}

func hyphen(r rune) bool { return r == '-' || r == '\u2010' }

// continues returns the position after the hyphen at which the word goes on, counted
// from 1, or 0 if it ends. White space may stand between only when it ends a line.
func continues(after []rune) int {
	newline := false
	for i, r := range after {
		switch {
		case alone(r):
			return 0
		case unicode.IsLetter(r), unicode.IsNumber(r):
			if i > 0 && !newline {
				return 0
			}
			return i + 1
		case !unicode.IsSpace(r):
			return 0
		}
		newline = newline || r == '\n'
	}
	return 0
}
