package office_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

func cellWith(content string) string { return `<w:tc>` + content + `</w:tc>` }

func textOf(text string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r></w:p>` }

func rowWith(cells ...string) string {
	row := `<w:tr>`
	for _, c := range cells {
		row += cellWith(c)
	}
	return row + `</w:tr>`
}

// Tables in the cells of tables keep their cells, at any depth; one of a single
// cell is a frame.
func TestNestedTables(t *testing.T) {
	t.Parallel()
	deepest := `<w:tbl>` + rowWith(textOf("x"), textOf("y")) + `</w:tbl>`
	inner := `<w:tbl>` + rowWith(textOf("a"), textOf("b")) + rowWith(textOf("c"), textOf("d")+deepest) + `</w:tbl>`
	framed := `<w:tbl>` + rowWith(textOf("framed")) + `</w:tbl>`
	d, err := office.DOCX(t.Context(), word(t, `<w:tbl>`+rowWith(textOf("Item"), textOf("Parts"))+rowWith(framed, textOf("of it:")+inner+textOf("and more"))+`</w:tbl>`), "x.docx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"table [Item] [Parts] [framed] [of it:\na\tb\nc\td\nx\ty\nand more]",
		"  unspecified",
		"    text: of it:",
		"    table [a] [b] [c] [d\nx\ty]",
		"      unspecified",
		"        text: d",
		"        table [x] [y]",
		"    text: and more",
	}, outline(d))
	require.Equal(t, &document.Ref{Ref: "#/groups/0"}, d.Tables[0].Data.Cells[3].Ref)

	markdown, err := export.Markdown(d, export.Options{})
	require.NoError(t, err)
	require.Equal(t, "| Item   | Parts           |\n|--------|-----------------|\n| framed | of it: and more |\n\n"+
		"| a   | b   |\n|-----|-----|\n| c   | d   |\n\n| x   | y   |\n|-----|-----|", markdown)
	html, err := export.HTML(d, export.Options{})
	require.NoError(t, err)
	require.Contains(t, html, "<td>framed</td><td>of it:<br>and more\n<table><tbody><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d\n<table>")

	data, err := document.Encode(d, 0)
	require.NoError(t, err)
	again, err := document.Decode(data)
	require.NoError(t, err)
	require.Equal(t, d.Tables[0].Data, again.Tables[0].Data)
}
