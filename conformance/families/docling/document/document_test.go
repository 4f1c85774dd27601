package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// sample has every kind of group and item that a converter here makes.
func sample(t *testing.T) *document.Document {
	t.Helper()
	b := document.NewBuilder("sample", document.NewOrigin("text/html", "sample.html", []byte("x")))
	b.Page(1, 612, 792)
	b.Page(2, 612, 792)
	b.Page(10, 612, 792)
	b.Title(nil, "A title")
	b.Header(nil, 2, "A header").Prov = []document.Prov{{PageNo: 10, BBox: document.BBox{R: 1, B: 1, Origin: document.TopLeft}, CharSpan: [2]int{0, 8}}}
	b.Paragraph(nil, "<plain> & simple")
	bold := document.Formatting{Bold: true}.Normal()
	b.Runs(nil, []document.Run{{Text: "one "}, {Text: "two", Formatting: bold}, {Text: " three", Hyperlink: "https://example.com/"}})
	list := b.List(nil)
	item := b.ListItem(list, "first", true, "1.")
	b.ListItem(b.List(item), "inner", false, "-")
	b.Fill(b.ListItem(list, "", true, "2."), []document.Run{{Text: "mixed "}, {Text: "looks", Formatting: bold}})
	table := b.Table(nil, document.TableData{NumRows: 2, NumCols: 2, Cells: []document.Cell{
		document.NewCell(0, 0, 1, 2, "wide"), document.NewCell(1, 0, 1, 1, "a"),
	}})
	b.TableCaption(table, "Table 1")
	b.PictureCaption(b.Picture(nil, &document.Image{MIMEType: "image/png", DPI: 72, URI: "data:image/png;base64,AA=="}), "Figure 1")
	b.Text(nil, document.Code, "x := 1").Language = "Go"
	notes := b.Group(nil, document.CommentSection, "notes")
	notes.Layer = document.LayerNotes
	b.Paragraph(notes, "a note")
	d, err := b.Document()
	require.NoError(t, err)
	return d
}

func TestEncodeAndDecode_S2_CONV_06(t *testing.T) {
	t.Parallel()
	d := sample(t)
	data, err := document.Encode(d, 2)
	require.NoError(t, err)
	require.NotContains(t, string(data), "null")
	require.Contains(t, string(data), "\n  \"version\": \"1.10.0\",")
	require.Contains(t, string(data), `"<plain> & simple"`)
	again, err := document.Decode(data)
	require.NoError(t, err)
	require.Equal(t, d, again)
	require.NoError(t, document.Check(again))
	require.Equal(t, document.LayerNotes, again.Texts[len(again.Texts)-1].Layer, "children begin in the layer of their parent")
	require.Less(t, strings.Index(string(data), `"2": {`), strings.Index(string(data), `"10": {`), "pages stand in order")
}
