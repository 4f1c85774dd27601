package pdf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// usual is text of the usual size.
func usual() string {
	return at("F1", 10, 50, 720, "First line of a text that is long enough to be") + at("F1", 10, 50, 708, "the running text of this page.")
}

const usualText = `
text "First line of a text that is long enough to be the running text of this page." p1
`

// A list is one however far its marks are from its texts; a column of numbers among
// other columns is none.
func TestMarksFarFromTheirTexts(t *testing.T) {
	t.Parallel()
	list := func(marks ...string) string {
		var out strings.Builder
		for i, m := range marks {
			y := 660 - 24*float64(i)
			out.WriteString(at("F1", 10, 50, y, m) + at("F1", 10, 90, y, "thing of some length,") + at("F1", 10, 90, y-12, "on two lines"))
		}
		return out.String()
	}
	for name, tt := range map[string]struct{ body, want string }{
		"bullets": {list("\x95", "\x95", "\x95"), `
list
  list_item - "thing of some length, on two lines" p1
  list_item - "thing of some length, on two lines" p1
  list_item - "thing of some length, on two lines" p1
`},
		"numbers": {list("1.", "2.", "3."), `
list
  list_item 1. "thing of some length, on two lines" p1
  list_item 2. "thing of some length, on two lines" p1
  list_item 3. "thing of some length, on two lines" p1
`},
		"rows with numbers": {at("F1", 10, 50, 660, "1.") + at("F1", 10, 90, 660, "Oak") + at("F1", 10, 190, 660, "12") +
			at("F1", 10, 50, 648, "2.") + at("F1", 10, 90, 648, "Elm") + at("F1", 10, 190, 648, "7") +
			at("F1", 10, 50, 636, "3.") + at("F1", 10, 90, 636, "Ash") + at("F1", 10, 190, 636, "9"), `
table 3x3
  0,0 "1."
  0,1 "Oak"
  0,2 "12"
  1,0 "2."
  1,1 "Elm"
  1,2 "7"
  2,0 "3."
  2,1 "Ash"
  2,2 "9"
`},
	} {
		require.Equal(t, strings.TrimPrefix(usualText, "\n")+strings.TrimPrefix(tt.want, "\n"), outline(t, file("", usual()+tt.body)), name)
	}
}

func TestCaptions(t *testing.T) {
	t.Parallel()
	table := at("F1", 10, 50, 600, "Oak") + at("F1", 10, 200, 600, "12") + at("F1", 10, 50, 588, "Elm") + at("F1", 10, 200, 588, "7") +
		at("F1", 10, 50, 576, "Ash") + at("F1", 10, 200, 576, "9")
	const cells = `  0,0 "Oak"
  0,1 "12"
  1,0 "Elm"
  1,1 "7"
  2,0 "Ash"
  2,1 "9"
`
	long := func() string {
		out := at("F1", 10, 50, 672, "Table 1.")
		for i := range 10 {
			out += at("F1", 10, 50, 660-12*float64(i), strings.TrimSpace(strings.Repeat("word ", 10)))
		}
		return out
	}
	image := "q 200 0 0 100 50 300 cm /I Do Q\n"
	for name, tt := range map[string]struct{ body, want string }{
		"above a table, in bold": {at("F2", 9, 50, 616, "Table 2-1: Trees of the park") + table, "table 3x2\n" + cells + `  caption "Table 2-1: Trees of the park" p1
`},
		"below a picture": {image + at("F1", 9, 60, 288, "Figure 3. The park, seen") + at("F1", 9, 60, 277, "from the north") + at("F1", 10, 50, 240, "More text of the page."), `picture p1
  caption "Figure 3. The park, seen from the north" p1
text "More text of the page." p1
dropped "1 picture on page 1: text in pictures is not read"
`},
		"of a drawing": {at("F1", 9, 60, 288, "Abb. 4: Der Park"), `caption "Abb. 4: Der Park" p1
`},
		"the table's is not the picture's": {image + at("F1", 9, 60, 288, "Table 1 Trees"), `picture p1
caption "Table 1 Trees" p1
dropped "1 picture on page 1: text in pictures is not read"
`},
		"a sentence about a figure": {at("F1", 10, 50, 660, "Figure 3 shows the park."), `text "Figure 3 shows the park." p1
`},
		"within a sentence": {
			at("F1", 10, 50, 660, "The trees of the park are those that are named in") + at("F1", 10, 50, 648, "Table 5. The park is old."),
			`text "The trees of the park are those that are named in Table 5. The park is old." p1
`,
		},
		"too long for one": {long(), `text "Table 1. ` + strings.TrimSpace(strings.Repeat("word ", 100)) + `" p1
`},
	} {
		require.Equal(t, strings.TrimPrefix(usualText, "\n")+tt.want, outline(t, file("", usual()+tt.body)), name)
	}
}

// A number of several levels makes a heading of a line in the look of running text.
func TestNumberedHeadings(t *testing.T) {
	t.Parallel()
	after := at("F1", 10, 50, 640, "The park has more than a hundred trees of many kinds.")
	for text, heads := range map[string]bool{
		"1.2 Trees of the park": true, "A.3.1. Trees": true, "Annex B": true, "Chapter 4: Trees": true,
		"1 Trees": false, "1.2 trees are many": false, "1.2 Trees are many.": false, "2.5": false,
		"1.2 Trees .......... 17": false, "1.2 Trees 17": false, "Annexes": false,
	} {
		got := outline(t, file("", usual()+at("F1", 10, 50, 670, text)+after))
		require.Equal(t, heads, strings.Contains(got, "section_header 1 \""+text), got)
	}
	contents := outline(t, file("", usual()+at("F1", 10, 50, 670, "1.1 Trees")+at("F1", 10, 50, 640, "1.2 Birds")+at("F1", 10, 50, 610, "The end of it.")))
	require.NotContains(t, contents, `section_header 1 "1.1 Trees"`, contents)
}

// Two sizes may both be running text: the larger one is no heading then.
func TestTwoSizesOfRunningText(t *testing.T) {
	t.Parallel()
	var notes, body strings.Builder
	for i := range 12 {
		notes.WriteString(at("F1", 8, 50, 300-10*float64(i), strings.Repeat("note of a smaller size ", 4)))
	}
	for i := range 5 {
		body.WriteString(at("F1", 10, 50, 600-12*float64(i), strings.Repeat("body of the paper here ", 4)))
	}
	got := outline(t, file("", at("F1", 14, 50, 700, "A heading")+body.String()+notes.String()))
	require.Contains(t, got, `title "A heading"`)
	require.NotContains(t, got, "section_header", got)
}

func TestNamesOfBoldFonts(t *testing.T) {
	t.Parallel()
	for name, bold := range map[string]bool{
		"abcdef+helvetica-bold": true, "itcfranklingothicstd-demi": true, "nimbusromno9l-medi": true, "nimbusromno9l-mediital": true,
		"abcdef+cmbx10": true, "sfbx1000": true, "arial-black": true, "myriadpro-semibold": true, "univers-bd": true,
		"helveticaneue-medium": false, "abcdef+cmr10": false, "times-roman": false, "media-sans": false, "garamond-book": false,
	} {
		require.Equal(t, bold, boldName.MatchString(name), name)
	}
}

// Lines of a script without spaces are joined without one.
func TestJoin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want string }{
		{"one", "two", "one two"},
		{"para-", "graph", "paragraph"},
		{"para-", "Graph", "para- Graph"},
		{"para\u00ad", "graph", "para\u00adgraph"},
		{"港口自", "测量", "港口自测量"},
		{"港口，", "测量", "港口，测量"},
		{"港口", "PDF", "港口 PDF"},
		{"\u0e17\u0e48\u0e32", "\u0e40\u0e23\u0e37\u0e2d", "\u0e17\u0e48\u0e32\u0e40\u0e23\u0e37\u0e2d"},
		{"항구", "수위", "항구 수위"},
	} {
		require.Equal(t, tt.want, join(tt.a, tt.b))
	}
}
