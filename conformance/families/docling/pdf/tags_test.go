package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tagged is a file of one page with a tree of tags, whose elements are on that page.
func tagged(tree, content string) []byte {
	data := string(file("", content))
	data = data[:strings.LastIndex(data, "xref\n0 ")]
	data = strings.Replace(data, "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Catalog/Pages 2 0 R/StructTreeRoot<</RoleMap<</Headline/H1/Step/LI>>/K["+tree+"]>>>>", 1)
	return []byte(table(data))
}

func elem(role string, kids ...string) string {
	return fmt.Sprintf("<</S/%s/Pg 9 0 R/K[%s]>>", role, strings.Join(kids, " "))
}

// tag marks content with a number.
func tag(id int, content string) string {
	return fmt.Sprintf("/P <</MCID %d>> BDC\n%sEMC\n", id, content)
}

// Tags tell headings, paragraphs, list items and cells, whatever they look like.
func TestTags_S2_CONV_01(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ tree, content, want string }{
		"headings": {
			elem("Headline", "0") + elem("P", "1") + elem("H2", "2") + elem("P", "3"),
			tag(0, at("F1", 10, 50, 700, "The heading")) + tag(1, at("F1", 10, 50, 688, "Text of some length.")) +
				tag(2, at("F1", 10, 50, 676, "A part")) + tag(3, at("F2", 20, 50, 640, "Large, and no heading")), `
title "The heading" p1
text "Text of some length." p1
section_header 1 "A part" p1
text "Large, and no heading" p1
`,
		},
		"a title": {
			elem("Title", "0") + elem("H1", "1") + elem("P", "2") + elem("H1", "3"),
			tag(0, at("F1", 10, 50, 700, "The title")) + tag(1, at("F1", 10, 50, 688, "A part")) + tag(2, at("F1", 10, 50, 676, "Text of some length.")) +
				tag(3, at("F1", 10, 50, 664, "Another part")), `
title "The title" p1
section_header 1 "A part" p1
text "Text of some length." p1
section_header 1 "Another part" p1
`,
		},
		"paragraphs": {
			elem("P", "0") + elem("P", "1"),
			tag(0, at("F1", 10, 50, 700, "One paragraph of this page")) + tag(1, at("F1", 10, 50, 688, "and another one")), `
text "One paragraph of this page" p1
text "and another one" p1
`,
		},
		"lists": {
			elem("P", "0") + elem("L", elem("Step", elem("LBody", "1", "2")), elem("LI", elem("Lbl", "3"), elem("LBody", "4"))),
			tag(0, at("F1", 10, 50, 700, "Text before it.")) + tag(1, at("F1", 10, 60, 680, "one thing,")) + tag(2, at("F1", 10, 60, 640, "far below")) +
				tag(3, at("F1", 10, 50, 620, "b.")) + tag(4, at("F1", 10, 62, 620, "another")), `
text "Text before it." p1
list
  list_item - "one thing, far below" p1
list
  list_item b. "another" p1
`,
		},
		"tables": {
			elem("P", "0") + elem("Table", elem("THead", elem("TR", elem("TH", elem("P", "1")), elem("TH", "2"))),
				elem("TBody", elem("TR", "<</S/TD/Pg 9 0 R/A<</O/Table/ColSpan 2>>/K 3>>"), elem("TR", elem("TD", "4"), elem("TD", "5")))),
			tag(0, at("F1", 10, 50, 700, "Text before it.")) + tag(1, at("F1", 10, 50, 680, "Name")) + tag(2, at("F1", 10, 90, 680, "Kind")) +
				tag(3, at("F1", 10, 50, 668, "Trees of the park")) + tag(4, at("F1", 10, 50, 656, "Oak")) + tag(5, at("F1", 10, 90, 656, "of the")+at("F1", 10, 90, 644, "north")), `
text "Text before it." p1
table 3x2
  0,0 "Name" header
  0,1 "Kind" header
  1,0 "Trees of the park"
  2,0 "Oak"
  2,1 "of the north"
`,
		},
	} {
		require.Equal(t, strings.TrimPrefix(tt.want, "\n"), outline(t, tagged(tt.tree, tt.content)), name)
	}
}

// A tree that is malformed costs no text.
func TestTags_Malformed_S2_CONV_09(t *testing.T) {
	t.Parallel()
	content := tag(0, at("F1", 10, 50, 700, "One sentence.")) + "EMC EMC /P BMC /P <</MCID (x)>> BDC " + at("F1", 10, 50, 660, "Another one.")
	for _, tree := range []string{
		elem("Table", elem("TR", "0")), elem("TR", elem("TD", "0")), elem("Table", "0"), elem("LI", "0", "0"), "<</K 1 0 R>>", "<</S 7/K[[[[0]]]]>>",
		strings.Repeat("<</S/P/Pg 9 0 R/K[", 20) + "0" + strings.Repeat("]>>", 20),
	} {
		t.Log(tree)
		got := outline(t, tagged(tree, content))
		require.Contains(t, got, "One sentence.", tree)
		require.Contains(t, got, "Another one.", tree)
	}
}

// The text in place of content replaces that of its glyphs.
func TestActualText_S2_CONV_01(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ content, want string }{
		"of one glyph":     {"/Span <</ActualText <FEFF00660069>>> BDC " + at("F1", 10, 50, 700, "!") + "EMC " + at("F1", 10, 52.8, 700, "ne"), "fine"},
		"of unknown ones":  {at("F1", 10, 50, 700, "a") + "/Span <</ActualText (bc)>> BDC " + at("F3", 10, 55.5, 700, "\\000\\000\\000\\000") + "EMC " + at("F1", 10, 65.5, 700, "d"), "abcd"},
		"of several":       {"/Span <</ActualText (a word)>> BDC " + at("F1", 10, 50, 700, "xyz") + "EMC", "a word"},
		"in another":       {"/Span <</ActualText (outer)>> BDC /Span <</ActualText (inner)>> BDC " + at("F1", 10, 50, 700, "xyz") + "EMC EMC", "outer"},
		"a hyphen":         {at("F1", 10, 50, 700, "har") + "/Span <</ActualText <FEFF00AD>>> BDC " + at("F1", 10, 64, 700, "-") + "EMC " + at("F1", 10, 50, 688, "bour"), "harbour"},
		"none":             {at("F1", 10, 50, 700, "seen") + "/Span <</ActualText ()>> BDC " + at("F1", 10, 90, 700, "---") + "EMC", "seen"},
		"of several lines": {"/Span <</ActualText (both)>> BDC " + at("F1", 10, 50, 700, "first") + at("F1", 10, 50, 688, "second") + "EMC", "first second"},
		"not ended":        {"/Span <</ActualText (both)>> BDC " + at("F1", 10, 50, 700, "first"), "first"},
	} {
		require.Equal(t, fmt.Sprintf("text %q p1\n", tt.want), outline(t, file("", tt.content)), name)
	}
}
