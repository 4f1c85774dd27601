package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// column writes lines of a column from a place down, each with its name and its number.
func column(x, y, step float64, name string, lines int) string {
	var out strings.Builder
	for i := range lines {
		out.WriteString(at("F1", 10, x, y-step*float64(i), fmt.Sprintf("%s %d and more words", name, i+1)))
	}
	return out.String()
}

// order is the names and numbers of the lines of columns as they are read.
func order(t *testing.T, data []byte) string {
	t.Helper()
	d, err := Convert(data, Options{})
	require.NoError(t, err)
	require.NoError(t, document.Check(d))
	var out []string
	for _, text := range d.Texts {
		words := strings.Fields(text.Text)
		for i := 0; i+1 < len(words); i++ {
			if words[i+1] >= "0" && words[i+1] <= "99" {
				out = append(out, words[i]+words[i+1])
			}
		}
	}
	return strings.Join(out, " ")
}

func inOrder(names ...string) string {
	var out []string
	for _, name := range names {
		n := 8
		if name == "d" {
			n = 3
		}
		for i := range n {
			out = append(out, fmt.Sprint(name, i+1))
		}
	}
	return strings.Join(out, " ")
}

// Columns that are drawn one after the other are read so, whether their base lines agree or
// not, and however many there are.
func TestColumns_S2_CONV_01(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content string
		want    string
	}{
		"two":                     {column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8), inOrder("a", "b")},
		"other base lines":        {column(50, 700, 14, "a", 8) + column(300, 695, 13, "b", 8), inOrder("a", "b")},
		"the last one is short":   {column(50, 700, 14, "a", 8) + column(300, 700, 14, "d", 3), inOrder("a", "d")},
		"three":                   {column(50, 700, 14, "a", 8) + column(230, 700, 14, "b", 8) + column(410, 700, 14, "c", 8), inOrder("a", "b", "c")},
		"below a line over both":  {at("F1", 10, 50, 730, "x 1 "+strings.Repeat("over both of them ", 5)) + column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8), "x1 " + inOrder("a", "b")},
		"and a line below them":   {column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8) + at("F1", 10, 50, 560, "x 1 "+strings.Repeat("over both of them ", 5)), inOrder("a", "b") + " x1"},
		"below a head in parts":   {at("F1", 10, 50, 722, "x 1") + at("F1", 10, 310, 722, "y 1") + column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8), "x1 y1 " + inOrder("a", "b")},
		"a short line below them": {column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8) + at("F1", 10, 50, 570, "x 1 below"), inOrder("a", "b") + " x1"},
		"below a short column":    {column(50, 700, 14, "a", 8) + column(300, 700, 14, "d", 3) + at("F1", 10, 50, 570, "x 1 below"), inOrder("a", "d") + " x1"},
		"below three": {
			column(50, 700, 14, "a", 8) + column(230, 700, 14, "b", 8) + column(410, 700, 14, "d", 3) + at("F1", 10, 50, 570, "x 1 below") + at("F1", 10, 50, 556, "y 1 below"),
			inOrder("a", "b", "d") + " x1 y1",
		},
		"a short line in the first": {column(50, 700, 14, "a", 8) + at("F1", 10, 50, 570, "x 1 in it") + column(300, 700, 14, "b", 8), inOrder("a") + " x1 " + inOrder("b")},
		"drawn last, beside the second": {
			column(50, 700, 14, "d", 3) + column(300, 700, 14, "a", 8) + at("F1", 10, 50, 644, "x 1 beside"), inOrder("d") + " x1 " + inOrder("a"),
		},
		"a short line between columns": {
			column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8) + at("F1", 10, 50, 574, "x 1 between") + column(50, 550, 14, "c", 8) + column(300, 550, 14, "a", 8),
			inOrder("a", "b") + " x1 " + inOrder("c", "a"),
		},
		"a column that is drawn last": {column(180, 700, 14, "d", 3) + column(340, 700, 14, "a", 8) + column(50, 700, 14, "b", 8), inOrder("b", "d", "a")},
		"two short columns below":     {column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8) + column(50, 574, 14, "d", 3) + column(300, 574, 14, "d", 3), inOrder("a", "d", "b", "d")},
		"two times two": {
			column(50, 700, 14, "a", 8) + column(300, 700, 14, "b", 8) + at("F1", 10, 50, 560, "x 1 "+strings.Repeat("over both of them ", 5)) +
				column(50, 520, 14, "c", 8) + column(300, 520, 14, "d", 3), inOrder("a", "b") + " x1 " + inOrder("c", "d"),
		},
	} {
		require.Equal(t, tt.want, order(t, file("", tt.content)), name)
	}
}

// Rows that are drawn one after the other are a table.
func TestColumns_RowsAreATable_S2_CONV_01(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for i := range 8 {
		y := 700 - 14*float64(i)
		rows.WriteString(at("F1", 10, 50, y, strings.Repeat("tree ", i%3+1)) + at("F1", 10, 300, y, fmt.Sprint("of kind ", i)))
	}
	require.Contains(t, outline(t, file("", rows.String())), "table 8x2")
}

// Columns of a page that runs from the right are read from the right, drawn one after the
// other or row by row.
func TestColumns_FromTheRight_S2_CONV_01(t *testing.T) {
	t.Parallel()
	hebrew := func(x, y float64, text string, from int32) []glyph {
		var out []glyph
		for i, r := range []rune(text) {
			out = append(out, glyph{text: string(r), x: x - 6*float64(i+1), y: y, w: 6, size: 10, order: from + int32(i)})
		}
		return out
	}
	const line = "\u05d0\u05d1\u05d2\u05d3 \u05d4\u05d5\u05d6\u05d7 \u05d8\u05d9\u05db\u05dc \u05de\u05e0\u05e1\u05e2 \u05e4\u05e6\u05e7\u05e8 "
	for _, byRow := range []bool{false, true} {
		var glyphs []glyph
		add := func(column, row int) {
			glyphs = append(glyphs, hebrew(550-260*float64(column), 700-14*float64(row), line+string(rune('0'+row))+string(rune('1'+column)), int32(len(glyphs)))...)
		}
		for i := range 16 {
			if byRow {
				add(i%2, i/2)
			} else {
				add(i/8, i%8)
			}
		}
		markDirection(glyphs)
		var got []string
		for _, part := range columns(glyphs, nil) {
			for _, l := range arrange(1, segmented(part.glyphs)) {
				words := strings.Fields(l.text())
				got = append(got, words[len(words)-1])
			}
		}
		want := "10 11 12 13 14 15 16 17 20 21 22 23 24 25 26 27"
		require.Equal(t, want, strings.Join(got, " "), byRow)
	}
}

// The first column of a table on a page that runs from the right is the right one.
func TestTables_FromTheRight_S2_CONV_01(t *testing.T) {
	t.Parallel()
	glyphs := func() []glyph {
		var out []glyph
		for i, text := range []string{"\u05d0\u05d0", "\u05d1\u05d1", "\u05d2\u05d2", "\u05d3\u05d3", "\u05d4\u05d4", "\u05d5\u05d5"} {
			for j, r := range []rune(text) {
				out = append(out, glyph{text: string(r), x: 400 - 100*float64(i%2) - 6*float64(j), y: 700 - 12*float64(i/2), w: 6, size: 10, fromRight: true})
			}
		}
		return out
	}
	same := func(b box) *document.BBox { return &document.BBox{L: b.l} }
	want := []string{"\u05d0\u05d0", "\u05d1\u05d1", "\u05d2\u05d2", "\u05d3\u05d3", "\u05d4\u05d4", "\u05d5\u05d5"}
	texts := func(data document.TableData) []string {
		var out []string
		for _, c := range data.Cells {
			out = append(out, c.Text)
		}
		return out
	}
	require.Equal(t, want, texts(grid(arrange(1, segmented(glyphs())), same)))
	across := []rule{{at: 712, from: 280, to: 420}, {at: 697, from: 280, to: 420}, {at: 685, from: 280, to: 420}, {at: 673, from: 280, to: 420}}
	down := []rule{{at: 280, from: 673, to: 712}, {at: 350, from: 673, to: 712}, {at: 420, from: 673, to: 712}}
	found, rest := tables(across, down, glyphs())
	require.Empty(t, rest)
	require.Equal(t, want, texts(found[0].grid(same)))
}

// Bullets that are drawn as shapes make lists.
func TestDrawnBullets_S2_CONV_01(t *testing.T) {
	t.Parallel()
	circle := func(x, y float64) string {
		return fmt.Sprintf("%[1]v %[2]v m %[1]v %[2]v %[3]v %[4]v %[3]v %[4]v c %[1]v %[2]v %[1]v %[2]v %[1]v %[2]v c f\n", x, y, x+3, y+3)
	}
	square := func(x, y float64) string { return fmt.Sprintf("%v %v 3 3 re f\n", x, y) }
	ring := func(x, y float64) string { return strings.Replace(circle(x, y), "c f", "c s", 1) }
	for name, dot := range map[string]func(x, y float64) string{"circle": circle, "square": square, "ring": ring} {
		body := usual() + dot(52, 652) + at("F1", 10, 60, 650, "one thing") + dot(52, 638) + at("F1", 10, 60, 636, "another thing,") + at("F1", 10, 60, 624, "on two lines")
		require.Equal(t, strings.TrimPrefix(usualText, "\n")+`list
  list_item - "one thing" p1
  list_item - "another thing, on two lines" p1
`, outline(t, file("", body)), name)
	}
	far := usual() + circle(52, 652) + at("F1", 10, 260, 650, "far from it")
	require.NotContains(t, outline(t, file("", far)), "list")
}
