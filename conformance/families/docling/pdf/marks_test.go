package pdf

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

// Marks come to the letters they stand at, whether they are drawn before them or
// after them.
func TestCombine_S2_CONV_01(t *testing.T) {
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	he := func(marks ...glyph) []glyph { return marks }
	after := he(at("ש", 30, 8), at("\u05b8", 34, 0), at("\u05c1", 36, 0), at("ל", 20, 8), at("\u05b9", 20, 0), at(".", 16, 3))
	before := he(at(".", 16, 3), at("\u05b9", 20, 0), at("ל", 20, 8), at("\u05c1", 36, 0), at("\u05b8", 34, 0), at("ש", 30, 8))
	for name, glyphs := range map[string][]glyph{"after": after, "before": before} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, g := range combine(glyphs) {
				got = append(got, g.text)
			}
			slices.Sort(got)
			require.Equal(t, []string{".", "ל\u05b9", norm.NFC.String("ש\u05c1\u05b8")}, got)
		})
	}
	alone := combine([]glyph{at("\u0301", 10, 0), at("1", 300, 5)})
	require.Len(t, alone, 2, "a mark far from any letter stays")
}

// Accents that are drawn over a letter are part of it; beside one they stay.
func TestCombine_Accents_S2_CONV_01(t *testing.T) {
	want := func(text string, glyphs ...glyph) {
		var got string
		for _, g := range combine(glyphs) {
			got += g.text
		}
		require.Equal(t, text, got)
	}
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	want("Bü", at("B", 0, 7), at("¨", 7.5, 5), at("u", 7, 6))
	want("é", at("e", 7, 5), at("´", 7.5, 3))
	want("a´ b", at("a", 0, 5), at("´", 5, 3), at(" ", 8, 3), at("b", 11, 5))
	want("¨3", at("¨", 1, 3), at("3", 0, 5))
}

// Marks that stand no nearer to the letter after them than to that before belong to the one
// before: those of Thai stand over its edge. One script does not decide for another.
func TestCombine_Undecided_S2_CONV_01(t *testing.T) {
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	glyphs := []glyph{at("\u0e17", 0, 6), at("\u0e35", 6.1, 0), at("\u0e48", 6.1, 0), at("\u0e19", 6, 6), at("\u0e31", 12.1, 0), at("\u0e49", 12.1, 0), at("\u0e19", 12, 6)}
	hebrew := []glyph{at("\u05b9", 200, 0), at("\u05dc", 200, 8), at("\u05b8", 214, 0), at("\u05e9", 210, 8)}
	for _, all := range [][]glyph{slices.Clone(glyphs), slices.Concat(hebrew, glyphs)} {
		text := ""
		for _, g := range combine(all) {
			text += g.text
		}
		require.Contains(t, text, "\u0e17\u0e35\u0e48\u0e19\u0e31\u0e49\u0e19")
		if len(all) > len(glyphs) {
			require.Contains(t, text, "\u05dc\u05b9\u05e9\u05b8")
		}
	}
}

// A mark may stand over a vowel sign of Devanagari, which is no letter.
func TestCombine_VowelSign_S2_CONV_01(t *testing.T) {
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	text := ""
	for _, g := range combine([]glyph{at("\u091c", 0, 6), at("\u093e", 6, 3), at("\u0901", 9, 0), at("\u091a", 9, 6)}) {
		text += g.text
	}
	require.Equal(t, "\u091c\u093e\u0901\u091a", text)
}

// A mark that one glyph has together with a letter leaves its room to that.
func TestCombine_MarkWithLetter_S2_CONV_01(t *testing.T) {
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	glyphs := combine([]glyph{at("\u0e19", 0, 6), at("\u0e49\u0e33", 4, 7), at("\u0e41", 11, 4)})
	require.Equal(t, "\u0e19\u0e49\u0e33\u0e41", newSegment(glyphs).text)
}

// Sara am is one letter, also with a tone mark.
func TestSegment_SaraAm_S2_CONV_01(t *testing.T) {
	at := func(text string, x, w float64) glyph { return glyph{text: text, x: x, y: 100, w: w, size: 10} }
	for want, glyphs := range map[string][]glyph{
		"\u0e17\u0e33":       {at("\u0e17", 0, 6), at("\u0e4d", 6, 0), at("\u0e32", 6, 5)},
		"\u0e15\u0e31\u0e49": {at("\u0e15", 0, 6), at("\u0e49", 6, 0), at("\u0e31", 6, 0)},
		"\u0e19\u0e49\u0e33": {at("\u0e19", 0, 6), at("\u0e4d", 6, 0), at("\u0e49", 6, 0), at("\u0e32", 6, 5)},
	} {
		require.Equal(t, want, newSegment(combine(glyphs)).text)
	}
}

// Letters with white between all of them are words; a row of numbers is none.
func TestSegment_LetterSpaced_S2_CONV_01(t *testing.T) {
	spaced := func(text string, gap float64) []glyph {
		var out []glyph
		x := 0.0
		for _, r := range text {
			if r == ' ' {
				x += 4 + gap
				continue
			}
			out = append(out, glyph{text: string(r), x: x, w: 6, size: 10})
			x += 6 + gap
		}
		return out
	}
	for text, want := range map[string]string{
		"ANNUAL REPORT": "ANNUAL REPORT",
		"Kapitel":       "Kapitel",
		"12345":         "1 2 3 4 5",
		"abc":           "a b c",
	} {
		require.Equal(t, want, newSegment(spaced(text, 3)).text)
	}
	require.Equal(t, "a plain line", newSegment(spaced("a plain line", 0)).text)
}

// A vowel sign that is drawn before its consonants is text after them, and an r that is drawn
// after consonants is text before them, where the glyphs are in the order of drawing.
func TestCombine_DrawnFirst_S2_CONV_01(t *testing.T) {
	glyphs := func(texts ...string) []glyph {
		var out []glyph
		for i, text := range texts {
			out = append(out, glyph{text: text, x: 6 * float64(i), y: 100, w: 6, size: 10})
		}
		return out
	}
	for want, texts := range map[string][]string{
		"\u0915\u093f\u0924\u093e\u092c":                          {"\u093f", "\u0915", "\u0924", "\u093e", "\u092c"},
		"\u091c\u093f\u091c\u094d\u091e\u093e \u0932\u093f":       {"\u093f", "\u091c", "\u091c\u094d", "\u091e", "\u093e", " ", "\u093f", "\u0932"},
		"\u0932\u093f \u0938\u094d\u0925\u093f":                   {"\u093f", "\u0932", " ", "\u093f", "\u0938\u094d", "\u0925"},
		"\u0932\u093f \u0915\u093e\u0930\u094d\u092f\u093e\u0932": {"\u093f", "\u0932", " ", "\u0915", "\u093e", "\u092f", "\u093e", "\u0930\u094d", "\u0932"},
		"\u0932\u093f\u0915":                                      {"\u0932", "\u093f", "\u0915"},
	} {
		got := ""
		for _, g := range combine(glyphs(texts...)) {
			got += g.text
		}
		require.Equal(t, want, got)
	}
}
