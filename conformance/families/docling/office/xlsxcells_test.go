package office_test

import (
	"archive/zip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

// bookParts are the parts of a workbook with one sheet of those rows, and no
// parts that a workbook may do without.
func bookParts(rows string) map[string]string {
	const names = ` xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	return map[string]string{
		"[Content_Types].xml":        `<Types><Override PartName="/xl/workbook.xml" ContentType="` + office.TypeXLSX + `.main+xml"/></Types>`,
		"_rels/.rels":                rels(relTo("1", "officeDocument", "xl/workbook.xml")),
		"xl/workbook.xml":            `<workbook` + names + `><workbookPr/><sheets><sheet name="One" sheetId="1" r:id="s"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": rels(relTo("s", "worksheet", "worksheets/sheet1.xml") + relTo("t", "styles", "styles.xml") + relTo("u", "sharedStrings", "sharedStrings.xml")),
		"xl/worksheets/sheet1.xml":   `<worksheet` + names + `><sheetData>` + rows + `</sheetData></worksheet>`,
	}
}

func book(t *testing.T, parts map[string]string) []string {
	t.Helper()
	d, err := office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	return outline(d)
}

// Cells as Excel and other programs write them.
func TestCells_S2_CONV_03(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ row, want string }{
		"inline string":    {`<c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><r><t>b </t></r><r><rPr><b/></rPr><t>c</t></r></is></c>`, "[a] [b c]"},
		"string result":    {`<c r="A1" t="str"><f>1+1</f><v>two</v></c>`, "[two]"},
		"no references":    {`<c><v>1</v></c><c/><c><v>2</v></c>`, "[1] [2]"},
		"fixed references": {`<c r="$A$1"><v>1</v></c>`, "[1]"},
		"a row too many":   {`<c r="A0"><v>1</v></c><c r="XFE1"><v>3</v></c><c r="B1"><v>4</v></c>`, "[1] [4]"},
		"truth":            {`<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="b"><v>maybe</v></c>`, "[TRUE] [FALSE] [maybe]"},
		"an error":         {`<c t="e"><v>#DIV/0!</v></c>`, "[#DIV/0!]"},
		"digits that are":  {`<c><v>0.30000000000000004</v></c><c><v>1.5E3</v></c><c><v>12345678901234</v></c><c><v>1E-12</v></c><c><v>1E+300</v></c><c><v>n/a</v></c>`, "[0.3] [1500] [12345678901234] [1E-12] [1E+300] [n/a]"},
		"a date":           {`<c t="d"><v>2026-11-23</v></c><c t="d" s="1"><v>2026-11-23T12:00:00</v></c><c s="1"><v>46349.5</v></c><c t="d" s="1"><v>soon</v></c>`, "[2026-11-23] [2026-11-23] [2026-11-23] [soon]"},
		"rounded":          {`<c><v>166399.037954453</v></c><c><v>-0.0379544534567</v></c><c><v>1234567890.6</v></c><c><v>0.0000123456789</v></c><c><v>0.00002</v></c><c><v>99999.999999999</v></c>`, "[166399.038] [-0.037954453] [1234567891] [1.23457E-05] [0.00002] [100000]"},
		"formats":          {`<c s="2"><v>0.125</v></c><c s="3"><v>-1234.5</v></c><c s="4"><v>5</v></c><c s="99"><v>6</v></c><c s="5"><v>7</v></c>`, "[12.50%] [-1,234.50] [5] [6] [7 km]"},
		"escapes":          {`<c t="str"><v>a_x000D_` + "\n" + `b_x0041_ c_x00zz_</v></c>`, "[a\nbA c_x00zz_]"},
		"shared":           {`<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c><c t="s"><v>-1</v></c><c t="s"><v>x</v></c>`, "[plain] [rich text]"},
		"hidden":           {`<c><v>1</v></c></row><row r="2" hidden="1"><c r="A2"><v>2</v></c>`, "[1] [2]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := bookParts(`<row>` + tt.row + `</row>`)
			parts["xl/styles.xml"] = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="General"/><numFmt numFmtId="166" formatCode="0&quot; km&quot;"/></numFmts>` +
				`<cellXfs><xf/><xf numFmtId="164"/><xf numFmtId="10"/><xf numFmtId="4"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>`
			parts["xl/sharedStrings.xml"] = `<sst><si><t>plain</t></si><si><r><t>rich </t></r><rPh><t>reading</t></rPh><r><t>text</t></r></si></sst>`
			require.Equal(t, "  table "+tt.want, joinTables(book(t, parts)[1:]))
		})
	}
}

// joinTables is the first line with the cells of the tables after it.
func joinTables(lines []string) string {
	text := lines[0]
	for _, line := range lines[1:] {
		text += line[len("  table"):]
	}
	return text
}

// The days of workbooks from a Macintosh count from 1904.
func TestDatesFrom1904(t *testing.T) {
	t.Parallel()
	parts := bookParts(`<row><c s="1"><v>40000</v></c><c s="1" t="d"><v>2013-07-08</v></c></row>`)
	parts["xl/workbook.xml"] = replaced(parts, same, `<workbookPr/>`, `<workbookPr date1904="1"/>`)["xl/workbook.xml"]
	parts["xl/styles.xml"] = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/></numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs></styleSheet>`
	require.Equal(t, []string{"sheet", "  table [2013-07-07] [2013-07-08]"}, book(t, parts))
}

// A workbook needs no strings and no styles, and its sheets may be of macros.
func TestFewParts_S2_CONV_09(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"sheet", "  table [1]"}, book(t, bookParts(`<row><c s="7"><v>1</v></c></row>`)))
	macros := replaced(bookParts(`<row><c t="str"><v>=HALT()</v></c></row>`), same, `officeDocument/2006/relationships/worksheet`, `office/2006/relationships/xlMacrosheet`)
	require.Equal(t, []string{"sheet", "  table [=HALT()]"}, book(t, macros))
}
