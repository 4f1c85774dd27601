package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The scripts of India draw some vowel signs before the consonants that they follow in the
// text, and an r before consonants after them. Programs that write down what each glyph is,
// in the order in which they draw them, leave it to readers to undo that.

// firstDrawn are the vowel signs that are drawn before their consonants.
const firstDrawn = "\u093f\u09bf\u09c7\u09c8\u0a3f\u0abf\u0b47\u0bc6\u0bc7\u0bc8\u0d46\u0d47\u0d48"

// lastDrawn are an r and a virama, which are drawn after the consonants that follow them.
var lastDrawn = map[string]bool{"\u0930\u094d": true, "\u09b0\u09cd": true, "\u0ab0\u0acd": true, "\u0b30\u0b4d": true}

// unreorder puts vowel signs after their consonants where glyphs are in the order in which
// they are drawn: there, some vowel sign begins a word.
func unreorder(glyphs []glyph) (changed bool) {
	if !drawnFirst(glyphs) {
		return false
	}
	for i := range glyphs {
		switch text := glyphs[i].text; {
		case isFirstDrawn(text):
			if j := clusterEnd(glyphs, i); j > i {
				glyphs[j].text += text
				glyphs[i].text = ""
			}
		case lastDrawn[text]:
			if j := clusterStart(glyphs, i); j < i {
				glyphs[j].text = text + glyphs[j].text
				glyphs[i].text = ""
			}
		}
	}
	return true
}

func isFirstDrawn(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && n == len(text) && strings.ContainsRune(firstDrawn, r)
}

// drawnFirst reports whether a vowel sign begins a word.
func drawnFirst(glyphs []glyph) bool {
	for i := range glyphs {
		if !isFirstDrawn(glyphs[i].text) || i+1 == len(glyphs) || !unicode.IsLetter(firstOf(&glyphs[i+1])) {
			continue
		}
		if i == 0 || strings.TrimSpace(glyphs[i-1].text) == "" || glyphs[i-1].apart(&glyphs[i]) {
			return true
		}
	}
	return false
}

func firstOf(g *glyph) rune {
	r, _ := utf8.DecodeRuneInString(g.text)
	return r
}

// endsInVirama reports whether the consonants of a glyph go on in the next one.
func endsInVirama(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune("\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0d4d", r)
}

// clusterEnd is the last glyph of the consonants that begin after glyph i, or i.
func clusterEnd(glyphs []glyph, i int) int {
	for j := i + 1; j < len(glyphs) && unicode.IsLetter(firstOf(&glyphs[j])); j++ {
		if !endsInVirama(glyphs[j].text) {
			return j
		}
	}
	return i
}

// clusterStart is the first glyph of the consonants, with their vowel signs, that end before
// glyph i, or i.
func clusterStart(glyphs []glyph, i int) int {
	j := i - 1
	for j >= 0 && (glyphs[j].text == "" || unicode.IsMark(firstOf(&glyphs[j]))) {
		j--
	}
	if j < 0 || !unicode.IsLetter(firstOf(&glyphs[j])) {
		return i
	}
	for j > 0 && endsInVirama(glyphs[j-1].text) {
		j--
	}
	return j
}
