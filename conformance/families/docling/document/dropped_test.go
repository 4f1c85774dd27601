package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// What was dropped is in the document, with how much, in the order in which it was
// first, and outlives a round trip.
func TestDropped(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("x", nil)
	b.Picture(nil, nil)
	b.PictureCaption(b.Picture(nil, nil), "a caption")
	b.Picture(nil, nil)
	b.Drop(document.LostFrames, 1)
	b.Lost("%d pages have no text", 7)
	b.Drop(document.LostMedia, 0)
	b.Drop(document.LostObjects, 2)
	b.Drop(document.LostFrames, 2)
	b.DropPictures()
	d, err := b.Document()
	require.NoError(t, err)
	require.Equal(t, []string{
		"7 pages have no text",
		"3 embedded pages were dropped: frames are not fetched.",
		"2 embedded files were dropped.",
		"2 pictures have no text: what they show was not read.",
	}, d.Dropped)
	data, err := document.Encode(d, 0)
	require.NoError(t, err)
	again, err := document.Decode(data)
	require.NoError(t, err)
	require.Equal(t, d, again)

	d, err = document.NewBuilder("x", nil).Document()
	require.NoError(t, err)
	require.Nil(t, d.Dropped)
	data, err = document.Encode(d, 0)
	require.NoError(t, err)
	require.NotContains(t, string(data), "dropped")
}

// A document with many cells has them in short; the same is read from both forms.
func TestManyCells(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{10_000, 10_001} {
		b := document.NewBuilder("x", nil)
		data := document.TableData{NumRows: rows, NumCols: 2}
		for row := range rows {
			data.Cells = append(data.Cells, document.NewCell(row, 0, 1, 1+row%2, "text"))
		}
		b.Table(nil, data)
		d, err := b.Document()
		require.NoError(t, err)
		text, err := document.Encode(d, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, int64(len(text)), b.Size(0))
		if rows > document.ManyCells {
			require.NotContains(t, string(text), `"grid"`)
			require.Contains(t, string(text), `{"col_span":2,"start_row_offset_idx":1,"end_row_offset_idx":2,"start_col_offset_idx":0,"end_col_offset_idx":2,"text":"text"}`)
		} else {
			require.Contains(t, string(text), `"grid"`)
		}
		again, err := document.Decode(text)
		require.NoError(t, err)
		require.Equal(t, d, again)
	}
}
