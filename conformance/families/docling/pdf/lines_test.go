package pdf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A subscript stays in its line, also in one with a superscript, and small text below
// large text in a cell beside does not come into its line.
func TestRows_Subscripts_S2_CONV_01(t *testing.T) {
	t.Parallel()
	type piece struct {
		text    string
		x, y, s float64
	}
	for name, tt := range map[string]struct {
		pieces []piece
		want   []string
	}{
		"both":          {[]piece{{"H", 0, 100, 12}, {"2", 6, 97, 9}, {"O and x", 12, 100, 12}, {"2", 54, 105, 9}}, []string{"H2O and x2"}},
		"of two digits": {[]piece{{"C", 0, 100, 12}, {"12", 6, 97, 9}, {"H and x", 18, 100, 12}, {"2", 60, 105, 9}}, []string{"C12H and x2"}},
		"at one letter": {[]piece{{"x", 0, 100, 12}, {"2", 6, 105, 9}, {"1", 6.1, 97, 9}, {"a", 13, 100, 12}}, []string{"x21a"}},
		"a cell beside": {[]piece{{"large", 0, 100, 12}, {"small", 60, 105, 9}, {"more", 60, 94, 9}}, []string{"large small", "more"}},
		"text below":    {[]piece{{"a line x", 0, 100, 12}, {"2", 48, 105, 9}, {"below", 0, 92, 9}}, []string{"a line x2", "below"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var glyphs []glyph
			for _, p := range tt.pieces {
				for i, r := range p.text {
					glyphs = append(glyphs, glyph{text: string(r), x: p.x + 6*float64(i), y: p.y, w: 6, size: p.s})
				}
			}
			var got []string
			for _, row := range segmented(glyphs) {
				var parts []string
				for _, s := range row {
					parts = append(parts, s.text)
				}
				got = append(got, strings.Join(parts, " "))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// A word of letter-spaced text is too short to tell that it is, so the words beside it tell.
func TestSplit_LetterSpaced_S2_CONV_01(t *testing.T) {
	t.Parallel()
	spaced := func(text string, gap, x float64) []glyph {
		var out []glyph
		for _, r := range text {
			out = append(out, glyph{text: string(r), x: x, w: 6, size: 10})
			x += 6 + gap
		}
		return out
	}
	for name, tt := range map[string]struct {
		row  []glyph
		want string
	}{
		"at the end":     {spaced("SPACED TITLE HERE", 4, 0), "SPACED TITLE HERE"},
		"at the start":   {spaced("ON THE HARBOR", 4, 0), "ON THE HARBOR"},
		"between":        {spaced("CRANES AND HARBOR", 4, 0), "CRANES AND HARBOR"},
		"a number":       {spaced("REPORT 2024", 4, 0), "REPORT 2024"},
		"numbers beside": {append(spaced("AMOUNT", 3, 0), spaced("123", 6, 100)...), "AMOUNT 1 2 3"},
		"plain beside":   {append(spaced("AMOUNT", 3, 0), spaced("of it", 0, 100)...), "AMOUNT of it"},
		"dots":           {append(spaced("to ", 0, 0), spaced("........", 3, 30)...), "to . . . . . . . ."},
		"only numbers":   {spaced("12345 a", 3, 0), "1 2 3 4 5 a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(1, split(tt.row))
			require.Equal(t, tt.want, l.text())
		})
	}
}
