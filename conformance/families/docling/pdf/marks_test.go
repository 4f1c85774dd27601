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
