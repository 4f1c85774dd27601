package office_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

func convert(t *testing.T, name string, o office.Options) *document.Document {
	t.Helper()
	d, err := readers[filepath.Ext(name)](t.Context(), corpusFile(t, name), name, o)
	require.NoError(t, err)
	return d
}

// outline is the tree in lines: depth, label, level or marker, text.
func outline(d *document.Document) []string {
	var lines []string
	find := d.Lookup()
	var walk func(p document.Parent, depth int)
	walk = func(p document.Parent, depth int) {
		for _, ref := range p.Base().Children {
			line := strings.Repeat("  ", depth)
			node := find(ref)
			switch n := node.(type) {
			case *document.Group:
				line += string(n.Label)
			case *document.Text:
				line += string(n.Label)
				if n.Level > 0 {
					line += " " + string(rune('0'+n.Level))
				}
				if n.Marker != "" {
					line += " " + n.Marker
				}
				if f := n.Formatting; f != nil {
					line += " " + looks(*f)
				}
				if n.Hyperlink != "" {
					line += " <" + n.Hyperlink + ">"
				}
				if n.Layer != document.LayerBody {
					line += " (" + string(n.Layer) + ")"
				}
				line += ": " + strings.ReplaceAll(n.Text, "\n", "⏎")
			case *document.Table:
				line += "table"
				for _, c := range n.Data.Cells {
					line += " [" + c.Text + "]"
				}
			case *document.Picture:
				line += "picture"
			}
			lines = append(lines, line)
			walk(node, depth+1)
		}
	}
	walk(d.Body, 0)
	return lines
}

func looks(f document.Formatting) string {
	text := ""
	for _, look := range []struct {
		on   bool
		name string
	}{{f.Bold, "b"}, {f.Italic, "i"}, {f.Underline, "u"}, {f.Strikethrough, "s"}, {f.Script == document.Subscript, "sub"}, {f.Script == document.Superscript, "sup"}} {
		if look.on {
			text += look.name
		}
	}
	return text
}

func TestDOCX_S2_CONV_02(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"page_header (furniture): Harbour handbook",
		"title: The harbour handbook",
		"section_header 1: Arriving",
		"inline",
		"  text: Every ship reports", "  text b: one hour", "  text: before it arrives, on", "  text i: channel 12", "  text: ; see",
		"  text <https://example.com/harbour?lang=en&page=2>: the list of channels", "  text: .",
		"section_header 2: Papers",
		"list",
		"  list_item 1.: Crew list",
		"  list_item 2.: Cargo list",
		"    list",
		"      list_item a): Weights",
		"      list_item b): Dangerous goods",
		"        list",
		"          list_item -: Class and number",
		"  list_item 3.: ", "    inline", "      text: Last", "      text b: five", "      text: ports",
		"section_header 3: Where to hand them in",
		"text: At the office on the north quay.",
		"section_header 1: Leaving",
		"list",
		"  list_item -: Pay the dues",
		"    list", "      list_item -: in cash", "      list_item -: by card",
		"  list_item -: Wait for the pilot",
		"text: The flag of the harbour:",
		"picture",
		"footnote: Ships under ten metres need not.",
		"page_footer (furniture): Printed on paper",
	}, outline(convert(t, "handbook.docx", office.Options{})))

	d := convert(t, "timetable.docx", office.Options{})
	require.Len(t, d.Tables, 2)
	grid := d.Tables[0].Data.Grid()
	require.Equal(t, 5, d.Tables[0].Data.NumRows)
	require.Equal(t, 4, d.Tables[0].Data.NumCols)
	require.Equal(t, document.Cell{RowSpan: 2, ColSpan: 1, EndRow: 2, EndCol: 1, Text: "Island", ColumnHeader: true}, grid[1][0])
	require.Equal(t, 2, grid[0][1].ColSpan)
	require.Equal(t, "12:15", grid[4][3].Text)
	require.Equal(t, 2, grid[4][3].RowSpan)
	require.True(t, grid[1][2].ColumnHeader)
	require.False(t, grid[2][0].ColumnHeader)

	chemistry := strings.Join(outline(convert(t, "chemistry.docx", office.Options{})), "\n")
	for _, line := range []string{"  text sub: 2", "  text sup: 2", "  text u: underlined", "  text s: struck", "  text bi: both", "text b: All of it is bold.", "<mailto:user@example.com>: user@example.com"} {
		require.Contains(t, chemistry, line)
	}
}

func TestDOCX_Characters_S2_CONV_02(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`<w:r><w:ruby><w:rt><w:r><w:t>kanji</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t> read</w:t></w:r>`: {"text: 漢字 read"},
		`<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t> done, </w:t><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Symbol" w:char="B3"/></w:r>`: {"text: ✓ done, α≥"},
		`<w:r><w:sym w:font="Odd" w:char="2603"/><w:sym w:font="Odd" w:char="F0FC"/><w:sym w:font="Odd" w:char="zz"/><w:sym w:char="D800"/></w:r>`:         {"text: ☃\uf0fc"},
		`<w:r><w:t>seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>, too</w:t></w:r>`:  {"text: seen, too", "text (invisible): hidden"},
		// A field that is hidden in part: its instruction still is none of the text.
		`<w:r><w:rPr><w:vanish/></w:rPr><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>XE</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>end</w:t></w:r>`: {"text: end"},
	} {
		d, err := office.DOCX(t.Context(), word(t, "<w:p>"+body+"</w:p>"), "x.docx", office.Options{})
		require.NoError(t, err)
		require.Equal(t, want, outline(d))
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"handbook.docx", "flags.pptx"} {
		require.Nil(t, convert(t, name, office.Options{}).Pictures[0].Image)
		image := convert(t, name, office.Options{EmbedImages: true}).Pictures[0].Image
		require.NotNil(t, image)
		require.Equal(t, "image/png", image.MIMEType)
		require.True(t, strings.HasPrefix(image.URI, "data:image/png;base64,iVBOR"))
		require.Equal(t, document.Size{Width: 24, Height: 16}, image.Size)
	}
}

// What LibreOffice does not write, or writes otherwise.
func TestWordsOfWord(t *testing.T) {
	t.Parallel()
	run := func(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }
	p := func(content string) string { return `<w:p>` + content + `</w:p>` }
	tests := map[string]struct {
		body string
		want []string
	}{
		"tracked changes": {p(run("kept ") + `<w:ins>` + run("added") + `</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>` + run("away") + `</w:moveFrom>`), []string{"text: kept added"}},
		"content control": {`<w:sdt><w:sdtContent>` + p(`<w:sdt><w:sdtContent>`+run("inside")+`</w:sdtContent></w:sdt>`) + `</w:sdtContent></w:sdt>`, []string{"text: inside"}},
		"a field's result": {p(`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "https://example.com/" </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` +
			run("there") + `<w:r><w:fldChar w:fldCharType="end"/></w:r>` + run(" and on")), []string{"inline", "  text <https://example.com/>: there", "  text: and on"}},
		"a simple field":     {p(`<w:fldSimple w:instr=" PAGE ">` + run("7") + `</w:fldSimple>`), []string{"text: 7"}},
		"an anchor":          {p(`<w:hyperlink w:anchor="top">` + run("up") + `</w:hyperlink>`), []string{"text <#top>: up"}},
		"outline level":      {`<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr>` + run("A header") + `</w:p>`, []string{"section_header 2: A header"}},
		"body outline":       {`<w:p><w:pPr><w:outlineLvl w:val="9"/></w:pPr>` + run("No header") + `</w:p>`, []string{"text: No header"}},
		"toggled off":        {p(`<w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t>plain</w:t></w:r>`), []string{"text: plain"}},
		"breaks and tabs":    {p(`<w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:tab/><w:t>c</w:t><w:br w:type="page"/></w:r>`), []string{"text: a⏎b\tc"}},
		"alternate content":  {p(`<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><w:txbxContent>` + p(run("in a box")) + `</w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent>` + p(run("in a box")) + `</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>`), []string{"text: in a box"}},
		"text of a fallback": {p(`<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing/></mc:Choice><mc:Fallback><w:pict><w:txbxContent>` + p(run("old")) + `</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>`), []string{"text: old"}},
		"a frame of a cell":  {`<w:tbl><w:tr><w:tc>` + p(run("framed")) + `</w:tc></w:tr></w:tbl>`, []string{"text: framed"}},
		"a formula":          {p(`<w:oMath><w:r><w:t>a+b</w:t></w:r></w:oMath>`), []string{"formula: a+b"}},
		"merge of nothing":   {`<w:tbl><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>` + p(run("a")) + `</w:tc><w:tc>` + p(run("b")) + `</w:tc></w:tr></w:tbl>`, []string{"table [a] [b]"}},
		"rows of no length":  {`<w:tbl><w:tr><w:tc>` + p(run("a")) + `</w:tc></w:tr><w:tr/></w:tbl>`, []string{"table [a]"}},
		"merge into a wide":  {`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge w:val="restart"/></w:tcPr>` + p(run("a")) + `</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge/></w:tcPr>` + p("") + `</w:tc><w:tc>` + p(run("b")) + `</w:tc></w:tr></w:tbl>`, []string{"table [a] [b]"}},
		"a nested table":     {`<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc>` + p(run("in")) + `</w:tc></w:tr></w:tbl></w:tc><w:tc>` + p(run("out")) + `</w:tc></w:tr></w:tbl>`, []string{"table [in] [out]"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := office.DOCX(t.Context(), word(t, tt.body), "x.docx", office.Options{})
			require.NoError(t, err)
			require.Equal(t, tt.want, outline(d))
		})
	}
}

func TestXLSX_S2_CONV_03(t *testing.T) {
	t.Parallel()
	d := convert(t, "budget.xlsx", office.Options{})
	require.Equal(t, []string{
		"sheet",
		"  table [Budget 2026] [Item] [Plan] [Actual] [Boats] [1200] [1180.5] [Fuel] [300] [342] [Total] [1500] [1522.5]",
		"  table [Note] [By] [Fuel is dear] [Ann]",
		"sheet",
		"  table [Name] [Days] [Ann] [10] [12] [3] [4] [Best] [Ann]",
	}, outline(d))
	require.Equal(t, "sheet: Crew & Co", d.Groups[1].Name)
	require.Equal(t, 3, d.Tables[0].Data.Cells[0].ColSpan)
	require.Equal(t, 2, d.Tables[2].Data.Cells[2].RowSpan)
	require.Equal(t, []document.Prov{{PageNo: 1, BBox: document.BBox{L: 2, T: 7, R: 4, B: 9, Origin: document.TopLeft}}}, d.Tables[1].Prov)
	require.Equal(t, document.Size{Width: 4, Height: 9}, d.Pages[1].Size)

	hidden := convert(t, "formats.xlsx", office.Options{})
	require.Len(t, hidden.Pages, 3)
	require.Equal(t, document.LayerInvisible, hidden.Tables[1].Layer)
	second := convert(t, "budget.xlsx", office.Options{FirstPage: 2})
	require.Len(t, second.Tables, 1)
	require.Len(t, second.Pages, 1)
	require.NotNil(t, second.Pages[2])
	first := convert(t, "budget.xlsx", office.Options{MaxPages: 1})
	require.Len(t, first.Tables, 2)
}

func TestPPTX_S2_CONV_04(t *testing.T) {
	t.Parallel()
	d := convert(t, "talk.pptx", office.Options{})
	require.Equal(t, []string{
		"chapter", "  title: Lights of the coast", "  section_header 1: A talk about lighthouses", "  text (notes): Welcome everybody.", "  text (notes): Then wait.",
		"chapter", "  title: What they do",
		"  list", "    list_item -: Warn", "      list", "        list_item -: of rocks", "        list_item -: of shallow water",
		"    list_item -: Guide", "    list_item -: ", "      inline", "        text: Tell", "        text b: where", "        text: you are",
		"  text (notes): Show the chart here.",
		"chapter", "  title: Ranges", "  table [Light] [Range] [North] [12] [nm] [9] [nm in fog]",
	}, outline(d))
	require.Equal(t, "slide-1", d.Groups[1].Name)
	require.Len(t, d.Pages, 3)
	require.Equal(t, document.Size{Width: 10080625, Height: 5670550}, d.Pages[1].Size)
	require.Equal(t, 3, d.Tables[0].Prov[0].PageNo)
	last := convert(t, "talk.pptx", office.Options{FirstPage: 3, LastPage: 3})
	require.Len(t, last.Tables, 1)
	require.Empty(t, last.Groups[1:])
}
