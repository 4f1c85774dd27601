package office_test

import (
	"archive/zip"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

const drawNames = ` xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
	` xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"` +
	` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

func rels(lines string) string {
	return `<Relationships ` + relNames + `>` + lines + `</Relationships>`
}

func relTo(id, kind, target string) string {
	return `<Relationship Id="` + id + `" Type="` + relKind + kind + `" Target="` + target + `"/>`
}

// deck has one slide with those shapes, over a layout and a master that PowerPoint
// would write: bullets come from the master, places from the layout.
func deck(t *testing.T, shapes string) []byte {
	t.Helper()
	tree := func(name, inside, after string) string {
		return `<p:` + name + drawNames + `><p:cSld><p:spTree>` + inside + `</p:spTree></p:cSld>` + after + `</p:` + name + `>`
	}
	holder := func(ph, rest string) string {
		return `<p:sp><p:nvSpPr><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr>` + rest + `</p:sp>`
	}
	return archive(t, zip.Deflate, map[string]string{
		"[Content_Types].xml":             `<Types><Override PartName="/ppt/presentation.xml" ContentType="` + office.TypePPTX + `.main+xml"/></Types>`,
		"_rels/.rels":                     rels(relTo("1", "officeDocument", "/ppt/presentation.xml")),
		"ppt/presentation.xml":            `<p:presentation` + drawNames + `><p:sldIdLst><p:sldId id="256" r:id="s1"/></p:sldIdLst><p:sldSz cx="1000" cy="500"/></p:presentation>`,
		"ppt/_rels/presentation.xml.rels": rels(relTo("s1", "slide", "slides/s.xml")),
		"ppt/slides/s.xml":                tree("sld", shapes, ""),
		"ppt/slides/_rels/s.xml.rels":     rels(relTo("l", "slideLayout", "../layouts/l.xml")),
		"ppt/layouts/l.xml":               tree("sldLayout", holder(`<p:ph idx="1"/>`, `<p:spPr><a:xfrm><a:off x="10" y="20"/><a:ext cx="30" cy="40"/></a:xfrm></p:spPr><p:txBody><a:lstStyle><a:lvl3pPr><a:buNone/></a:lvl3pPr></a:lstStyle></p:txBody>`), ""),
		"ppt/layouts/_rels/l.xml.rels":    rels(relTo("m", "slideMaster", "../masters/m.xml")),
		"ppt/masters/m.xml":               tree("sldMaster", holder(`<p:ph type="title"/>`, ""), `<p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr><a:lvl2pPr><a:buAutoNum type="romanUcPeriod"/></a:lvl2pPr><a:lvl3pPr><a:buChar char="-"/></a:lvl3pPr></p:bodyStyle></p:txStyles>`),
		"ppt/masters/_rels/m.xml.rels":    rels(""),
	})
}

func para(properties, text string) string {
	return `<a:p><a:pPr ` + properties + `</a:pPr><a:r><a:t>` + text + `</a:t></a:r></a:p>`
}

func TestBulletsOfTheMaster_S2_CONV_04(t *testing.T) {
	t.Parallel()
	data := deck(t, `<p:sp><p:nvSpPr><p:nvPr><p:ph idx="1"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody>`+
		para(`>`, "one")+para(`lvl="1">`, "first")+para(`lvl="1">`, "second")+para(`><a:buNone/>`, "no bullet")+
		para(`lvl="1"><a:buAutoNum type="alphaLcParenBoth" startAt="3"/>`, "third")+para(`lvl="2">`, "the layout has none")+
		`</p:txBody></p:sp><p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>`+para(`>`, "a text box")+`</p:txBody></p:sp>`)
	d, err := office.PPTX(t.Context(), data, "x.pptx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"chapter",
		"  list", "    list_item -: one", "      list", "        list_item I.: first", "        list_item II.: second",
		"  text: no bullet",
		"  list", "    list_item (c): third",
		"  text: the layout has none",
		"  text: a text box",
	}, outline(d))
	require.Equal(t, document.BBox{L: 10, T: 20, R: 40, B: 60, Origin: document.TopLeft}, d.Texts[0].Prov[0].BBox)
	require.Equal(t, document.Size{Width: 1000, Height: 500}, d.Pages[1].Size)
}

func TestPicturesOfSheets(t *testing.T) {
	t.Parallel()
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	require.NoError(t, err)
	f := excelize.NewFile()
	require.NoError(t, f.SetCellValue("Sheet1", "A1", "x"))
	require.NoError(t, f.AddPictureFromBytes("Sheet1", "C3", &excelize.Picture{Extension: ".png", File: png}))
	data, err := f.WriteToBuffer()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	d, err := office.XLSX(t.Context(), data.Bytes(), "x.xlsx", office.Options{EmbedImages: true})
	require.NoError(t, err)
	require.Equal(t, []string{"sheet", "  table [x]", "  picture"}, outline(d))
	require.Equal(t, document.Size{Width: 1, Height: 1}, d.Pictures[0].Image.Size)
	require.Equal(t, 2.0, d.Pictures[0].Prov[0].BBox.L)
	require.Equal(t, 2.0, d.Pictures[0].Prov[0].BBox.T)
}

// Two merged ranges that share places, and values below a merged range.
func TestOddMerges_S2_CONV_03(t *testing.T) {
	t.Parallel()
	parts := unpack(t, corpusFile(t, "budget.xlsx"))
	sheet := []byte(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row><row r="2"><c r="A2"><v>3</v></c><c r="C2"><v>4</v></c></row></sheetData>` +
		`<mergeCells><mergeCell ref="A1:B2"/><mergeCell ref="B1:C1"/></mergeCells></worksheet>`)
	parts["xl/worksheets/sheet1.xml"] = string(sheet)
	d, err := office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{LastPage: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"sheet", "  table [1] [4]"}, outline(d))
	require.NoError(t, document.Check(d))
}
