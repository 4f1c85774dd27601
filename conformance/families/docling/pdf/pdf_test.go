package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// file writes a PDF of pages, each the text operators of one. F1 and F2 are
// Helvetica and its bold, without widths as old programs wrote them; F3 has
// codes of two bytes.
func file(extra string, pages ...string) []byte {
	kids := ""
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
		"<</Type/Font/Subtype/Type0/BaseFont/Some/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[<</Subtype/CIDFontType2/DW 500/W[1[600 700]10 12 250]>>]>>",
		stream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange "+
			"1 beginbfchar <0001> <00480069> endbfchar 2 beginbfrange <0002> <0003> <0041> <000a> <000b> [<0078> <D83DDE00>] endbfrange endcmap end end"),
		stream("/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray", "x"),
		stream("/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Matrix[1 0 0 1 0 -100]", "BT /F1 10 Tf 50 800 Td (In a form) Tj ET"),
	}
	for _, page := range pages {
		n := len(objects) + 1
		kids += fmt.Sprintf("%d 0 R ", n)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R%s/Resources<</Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>/XObject<</I 7 0 R/X 8 0 R>>>>>>", n+1, extra), stream("", page))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/MediaBox[0 0 600 800]/Kids[%s]/Count %d>>", kids, len(pages))
	var out, table strings.Builder
	out.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, at)
	return []byte(out.String())
}

func stream(dict, content string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(content), content)
}

// at writes text with its base line at a place.
func at(font string, size, x, y float64, text string) string {
	return fmt.Sprintf("BT /%s %v Tf 1 0 0 1 %v %v Tm (%s) Tj ET\n", font, size, x, y, text)
}

// letter is lines 16 apart within a paragraph and 23 between them, as word
// processors set text of size 12; the gap between paragraphs is the usual one.
func letter() string {
	var out strings.Builder
	y := 750.0
	for _, paragraph := range []string{
		"Karin Example|12 Linden Street", "Dear Sir or Madam,", "the amount you ask for does not agree with the|reading that I have sent to you in spring.",
		"Please tell me what it was.", "Yours faithfully,", "Karin", "Enclosures: 2",
	} {
		for line := range strings.SplitSeq(paragraph, "|") {
			out.WriteString(at("F1", 12, 50, y, line))
			y -= 16.1
		}
		y -= 7
	}
	return out.String()
}

// printed is a printed sheet: numbers are set to the right, close to texts that are
// set to the left, and heads are all set to the left.
func printed() string {
	var out strings.Builder
	helvetica := &font{core: "Helvetica"}
	out.WriteString(at("F1", 10, 50, 712, "Sales by region of the year, and what we make of them, in one line of text."))
	for i, row := range []string{"Name|Kind|Amount|Share", "Person 1|Dept 1|3010.00 EUR|60.0%", "Person 2|Dept 2|20.00 EUR|40.0%", "Person 10|Dept 1|15.00 EUR|1.5%", "Total||3045.00 EUR|"} {
		for col, text := range strings.Split(row, "|") {
			x := []float64{50, 100, 140, 205}[col]
			if i > 0 && col > 1 {
				x = []float64{200, 270}[col-2]
				for _, r := range text {
					x -= helvetica.standardWidth(string(r), string(r)) / 100
				}
			}
			if text != "" {
				out.WriteString(at("F1", 10, x, 700-12*float64(i), text))
			}
		}
	}
	return out.String()
}

// outline writes the body as one line an item: label, level or marker, text.
func outline(t *testing.T, data []byte) string {
	t.Helper()
	d, err := Convert(data, Options{Filename: "x.pdf"})
	require.NoError(t, err)
	require.NoError(t, document.Check(d))
	nodes := d.Lookup()
	var out strings.Builder
	var walk func(refs []document.Ref, depth int)
	walk = func(refs []document.Ref, depth int) {
		for _, ref := range refs {
			n := nodes(ref)
			out.WriteString(strings.Repeat("  ", depth))
			switch n := n.(type) {
			case *document.Group:
				fmt.Fprintf(&out, "%s\n", n.Label)
			case *document.Text:
				more := ""
				if n.Label == document.SectionHeader {
					more = fmt.Sprint(n.Level, " ")
				}
				if n.Label == document.ListItem {
					more = n.Marker + " "
				}
				fmt.Fprintf(&out, "%s %s%q p%d\n", n.Label, more, n.Text, pageOf(n.Prov))
			case *document.Picture:
				fmt.Fprintf(&out, "picture p%d\n", pageOf(n.Prov))
			case *document.Table:
				fmt.Fprintf(&out, "table %dx%d\n", n.Data.NumRows, n.Data.NumCols)
				for _, c := range n.Data.Cells {
					fmt.Fprintf(&out, "%s  %d,%d %q%s\n", strings.Repeat("  ", depth), c.StartRow, c.StartCol, c.Text, map[bool]string{true: " header"}[c.ColumnHeader])
				}
			}
			walk(n.Base().Children, depth+1)
		}
	}
	walk(d.Body.Children, 0)
	for _, lost := range d.Dropped {
		fmt.Fprintf(&out, "dropped %q\n", lost)
	}
	return out.String()
}

func pageOf(prov []document.Prov) int {
	if len(prov) == 0 {
		return 0
	}
	return prov[0].PageNo
}

func TestConvert_S2_CONV_01(t *testing.T) {
	t.Parallel()
	body := at("F1", 10, 50, 700, "First line of a text that is long enough to be") + at("F1", 10, 50, 688, "the running text of this page.")
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"heading, paragraphs, list", file("", at("F2", 18, 50, 750, "A title")+body+
			at("F1", 10, 50, 660, "Second para-")+at("F1", 10, 50, 648, "graph here.")+
			at("F2", 10, 50, 620, "Things")+
			at("F1", 10, 60, 600, "\x95 one thing")+at("F1", 10, 75, 588, "1. within it")+at("F1", 10, 60, 576, "\x95 another thing,")+at("F1", 10, 70, 564, "on two lines")), `
title "A title" p1
text "First line of a text that is long enough to be the running text of this page." p1
text "Second paragraph here." p1
section_header 1 "Things" p1
list
  list_item - "one thing" p1
    list
      list_item 1. "within it" p1
  list_item - "another thing, on two lines" p1
`},
		{"order is that of the page", file("", at("F1", 10, 50, 500, "below, and it ends.")+at("F1", 10, 50, 700, "above, and it ends.")), `
text "above, and it ends." p1
text "below, and it ends." p1
`},
		{"table with an empty cell and a cell of two lines", file("", body+
			at("F2", 10, 50, 600, "Name")+at("F2", 10, 200, 600, "Kind")+at("F2", 10, 350, 600, "Count")+
			at("F1", 10, 50, 585, "Oak")+at("F1", 10, 200, 585, "tree of the")+at("F1", 10, 350, 585, "3")+
			at("F1", 10, 200, 573, "north")+
			at("F1", 10, 50, 555, "Moss")+at("F1", 10, 350, 555, "70")+
			at("F1", 10, 50, 540, "Fern")+at("F1", 10, 200, 540, "plant")+at("F1", 10, 350, 540, "12")), `
text "First line of a text that is long enough to be the running text of this page." p1
table 4x3
  0,0 "Name" header
  0,1 "Kind" header
  0,2 "Count" header
  1,0 "Oak"
  1,1 "tree of the north"
  1,2 "3"
  2,0 "Moss"
  2,1 ""
  2,2 "70"
  3,0 "Fern"
  3,1 "plant"
  3,2 "12"
`},
		{"codes of two bytes, forms and moves", file("",
			"BT /F3 12 Tf 1 0 0 1 50 750 Tm [<0001> -900 <00020003>] TJ 0 -100 Td <000a000b00ff> Tj ET q 1 0 0 1 0 -150 cm /X Do Q"), `
title "Hi AB" p1
section_header 1 "x😀�" p1
text "In a form" p1
dropped "1 glyph whose text the file does not tell: written as �"
`},
		{"an image between texts", file("", body+"q 100 0 0 100 50 500 cm /I Do Q q 2 0 0 300 10 10 cm /I Do Q "+at("F1", 10, 50, 450, "After the image.")), `
text "First line of a text that is long enough to be the running text of this page." p1
picture p1
text "After the image." p1
dropped "1 picture on page 1: text in pictures is not read"
`},
		{"a letter of which most paragraphs have one line", file("", letter()), `
text "Karin Example 12 Linden Street" p1
text "Dear Sir or Madam," p1
text "the amount you ask for does not agree with the reading that I have sent to you in spring." p1
text "Please tell me what it was." p1
text "Yours faithfully," p1
text "Karin" p1
text "Enclosures: 2" p1
`},
		{"lines of another alignment", file("", at("F1", 10, 400, 700, "Berlin, in May")+at("F1", 10, 50, 688, "Dear Sir or Madam,")), `
text "Berlin, in May" p1
text "Dear Sir or Madam," p1
`},
		{"bullets without a gap", file("", body+at("F1", 10, 50, 650, "\x95Revenue")+at("F1", 10, 50, 638, "\x95Cost")+at("F1", 10, 50, 626, "-5 degrees")), `
text "First line of a text that is long enough to be the running text of this page." p1
list
  list_item - "Revenue" p1
  list_item - "Cost" p1
text "-5 degrees" p1
`},
		{"a sheet without rules", file("", printed()), `
text "Sales by region of the year, and what we make of them, in one line of text." p1
table 5x4
  0,0 "Name" header
  0,1 "Kind" header
  0,2 "Amount" header
  0,3 "Share" header
  1,0 "Person 1"
  1,1 "Dept 1"
  1,2 "3010.00 EUR"
  1,3 "60.0%"
  2,0 "Person 2"
  2,1 "Dept 2"
  2,2 "20.00 EUR"
  2,3 "40.0%"
  3,0 "Person 10"
  3,1 "Dept 1"
  3,2 "15.00 EUR"
  3,3 "1.5%"
  4,0 "Total"
  4,1 ""
  4,2 "3045.00 EUR"
  4,3 ""
`},
		{"a table ends where the rows stop", file("", body+at("F1", 10, 50, 600, "Name")+at("F1", 10, 150, 600, "Count")+at("F1", 10, 50, 588, "Oak")+at("F1", 10, 150, 588, "3")+
			at("F1", 10, 50, 576, "Fern")+at("F1", 10, 150, 576, "4")+at("F1", 10, 50, 538, "Seen")+at("F1", 10, 150, 538, "by Ann")), `
text "First line of a text that is long enough to be the running text of this page." p1
table 3x2
  0,0 "Name" header
  0,1 "Count" header
  1,0 "Oak"
  1,1 "3"
  2,0 "Fern"
  2,1 "4"
text "Seen by Ann" p1
`},
		{"a list beside a box", file("", body+at("F1", 10, 50, 600, "\x95 one thing")+at("F1", 10, 300, 600, "A box, and")+at("F1", 10, 50, 588, "\x95 another thing")+at("F1", 10, 300, 588, "its second line")), `
text "First line of a text that is long enough to be the running text of this page." p1
list
  list_item - "one thing" p1
  list_item - "another thing" p1
text "A box, and its second line" p1
`},
		{"a page turned by 90 degrees", file("/Rotate 90", "BT /F1 10 Tf 0 1 -1 0 100 50 Tm (Turned, and it ends.) Tj ET BT /F1 10 Tf 0 1 -1 0 200 50 Tm (Below that.) Tj ET"), `
text "Turned, and it ends." p1
text "Below that." p1
`},
		{"headers, footers, and a sentence over the page", file("",
			at("F1", 8, 50, 770, "Handbook 3")+body+at("F1", 10, 50, 100, "This goes on with")+at("F1", 8, 300, 30, "page 1"),
			at("F1", 8, 50, 770, "Handbook 4")+at("F1", 10, 50, 700, "the next page.")+at("F1", 8, 300, 30, "page 2")), `
page_header "Handbook 3" p1
text "First line of a text that is long enough to be the running text of this page." p1
text "This goes on with the next page." p1
page_footer "page 1" p1
page_header "Handbook 4" p2
page_footer "page 2" p2
`},
		{"nothing to read", file("", "0 0 100 100 re f"), `
picture p1
dropped "empty: page 1 has no text; what it shows is not read"
`},
		{"drawn twice to look bold", file("", body+at("F1", 10, 50, 600, "Twice.")+at("F1", 10, 50.3, 600, "Twice.")), `
text "First line of a text that is long enough to be the running text of this page." p1
text "Twice." p1
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, strings.TrimPrefix(tt.want, "\n"), outline(t, tt.data))
		})
	}
}

func TestConvert_Provenance_S2_CONV_01(t *testing.T) {
	t.Parallel()
	d, err := Convert(file("/MediaBox[10 20 310 420]", at("F1", 10, 60, 120, "Ten wide.")), Options{Filename: "a b.pdf"})
	require.NoError(t, err)
	require.Equal(t, "a b", d.Name)
	require.Equal(t, document.Size{Width: 300, Height: 400}, d.Pages[1].Size)
	prov := d.Texts[0].Prov[0]
	require.Equal(t, 50.0, prov.BBox.L)
	require.Equal(t, 98.0, prov.BBox.B, "a fifth of the size below the base line")
	require.Equal(t, 108.0, prov.BBox.T)
	require.Equal(t, [2]int{0, 9}, prov.CharSpan)
	require.Equal(t, document.BottomLeft, prov.BBox.Origin)
}

func TestConvert_Pages(t *testing.T) {
	t.Parallel()
	three := file("", at("F1", 10, 50, 500, "One."), at("F1", 10, 50, 400, "Two."), at("F1", 10, 50, 300, "Three."))
	for _, tt := range []struct {
		opts Options
		want []string
	}{
		{Options{}, []string{"One.", "Two.", "Three."}},
		{Options{From: 2}, []string{"Two.", "Three."}},
		{Options{From: 2, To: 2}, []string{"Two."}},
		{Options{MaxPages: 1}, []string{"One."}},
		{Options{To: 99, From: 3}, []string{"Three."}},
	} {
		d, err := Convert(three, tt.opts)
		require.NoError(t, err)
		var got []string
		for _, text := range d.Texts {
			got = append(got, text.Text)
		}
		require.Equal(t, tt.want, got)
	}
	_, err := Convert(three, Options{From: 4})
	require.ErrorIs(t, err, ErrNoPages)
}

func TestConvert_Refused(t *testing.T) {
	t.Parallel()
	encrypted, err := os.ReadFile(filepath.Join("..", "testdata", "corpus", "encrypted.pdf"))
	require.NoError(t, err)
	_, err = Convert(encrypted, Options{})
	require.ErrorIs(t, err, ErrEncrypted)
	_, err = Convert([]byte("no PDF at all"), Options{})
	require.Error(t, err)
}

// TestConvert_TooMuch: what streams unpack to, pages and text have bounds, and
// what is over one is refused before much work is done.
func TestConvert_TooMuch(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("one goroutine works through a large input, there is nothing to race with")
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	require.NoError(t, err)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range maxUnpacked>>20 + 1 {
		_, err := z.Write(blank)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	plain := file("", "X")
	old := stream("", "X")
	bomb := strings.Replace(string(plain), old, stream("/Filter/FlateDecode", packed.String()), 1)
	_, err = Convert([]byte(table(bomb[:strings.LastIndex(bomb, "xref\n0 ")])), Options{})
	require.ErrorIs(t, err, ErrTooMuch)

	many := strings.Replace(string(file("", at("F1", 10, 50, 500, "Hello"))), "/Kids[", "/Kids["+strings.Repeat("9 0 R ", 3000), 1)
	data := []byte(table(many[:strings.LastIndex(many, "xref\n0 ")]))
	_, err = Convert(data, Options{MaxBytes: 3000 * pageBytes})
	require.ErrorIs(t, err, ErrTooMuch, "of pages")
	_, err = Convert(data, Options{To: 2000, MaxBytes: 2000*pageBytes + 10_000})
	require.ErrorIs(t, err, ErrTooMuch, "of text")
	d, err := Convert(data, Options{From: 7, To: 8, MaxBytes: 1000})
	require.NoError(t, err)
	require.Len(t, d.Texts, 2)
}

// table puts a table of offsets after objects.
func table(objects string) string {
	var out strings.Builder
	n := 0
	for i := 0; ; n++ {
		next := strings.Index(objects[i:], fmt.Sprintf("%d 0 obj\n", n+1))
		if next < 0 {
			break
		}
		i += next
		fmt.Fprintf(&out, "%010d 00000 n \n", i)
	}
	return objects + fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", n+1, out.String(), n+1, len(objects))
}

// TestConvert_AfterTheEnd: some programs leave NULs after the end of a file.
func TestConvert_AfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"\x00\x00\x00", strings.Repeat("\x00", 5000), "\r\n\x1a"} {
		d, err := Convert(append(file("", at("F1", 10, 50, 500, "One.")), after...), Options{})
		require.NoError(t, err)
		require.Len(t, d.Texts, 1)
	}
}

func TestParseToUnicode(t *testing.T) {
	t.Parallel()
	got := parseToUnicode("1 beginbfchar <01> <0041> endbfchar 3 beginbfrange <10> <12> <00FE> <20> <21> [ <0061 0062> <0063> ] <30> <2f> <0041> endbfrange")
	require.Equal(t, map[string]string{"\x01": "A", "\x10": "þ", "\x11": "ÿ", "\x12": "Ā", "\x20": "ab", "\x21": "c"}, got)
}

func FuzzParseToUnicode(f *testing.F) {
	f.Add("1 beginbfchar <01> <0041> endbfchar")
	f.Add("beginbfrange <10> <12> [ <00> ] <0a> endbfrange endbfchar")
	f.Fuzz(func(t *testing.T, data string) {
		require.LessOrEqual(t, len(parseToUnicode(data)), maxMapped+256)
	})
}

// FuzzWrite places signs anywhere on two pages: whatever lines and blocks that
// makes, the document is sound.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("some signs on a page, placed by their bytes: 1. one 2. two - three"))
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := document.NewBuilder("fuzz", nil)
		pages := make([]page, 2)
		for no := range pages {
			var glyphs []glyph
			for i := no * 6; i+6 <= len(data) && i < 12_000; i += 12 {
				d := data[i : i+6]
				glyphs = append(glyphs, glyph{
					text: string(rune(d[0])), x: float64(d[1]) * 2, y: float64(binary.LittleEndian.Uint16(d[2:])) / 100,
					size: 4 + float64(d[4]%32), w: float64(d[5] % 16), bold: d[4] > 200,
				})
			}
			b.Page(no+1, 600, 700)
			pages[no] = page{no: no + 1, width: 600, height: 700, back: identity}
			pages[no].lines = arrange(no+1, segmented(glyphs))
		}
		write(b, pages, nil)
		d, err := b.Document()
		require.NoError(t, err)
		for _, text := range d.Texts {
			for _, p := range text.Prov {
				require.False(t, math.IsNaN(p.BBox.L+p.BBox.R+p.BBox.T+p.BBox.B))
			}
		}
	})
}
