package docling

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// What a conversion left out is named in the result, at the end of the Markdown and in the
// log.
func TestLosses_S2_CONV_01(t *testing.T) {
	t.Parallel()
	const remark = "empty: page 1 has no text; what it shows is not read"
	s := newTestService(t, Options{})
	f := s.family()
	raw, err := json.Marshal(args{"file_path": "drawing.pdf"})
	require.NoError(t, err)
	var log bytes.Buffer
	c := family.NewCall("convert_pdf", raw, slog.New(slog.NewJSONHandler(&log, nil)))
	for _, tool := range f.Tools {
		if tool.Name == c.Tool {
			res, err := tool.Handle(t.Context(), c)
			c.Finish(t.Context(), f.Failure(err))
			require.NoError(t, err)
			doc, err := family.Encode(res)
			require.NoError(t, err)
			d, err := document.Decode(doc)
			require.NoError(t, err)
			require.Equal(t, []string{remark}, d.Losses())
			markdown, failure := call(t.Context(), f, "export_markdown", args{"document": doc})
			require.Nil(t, failure)
			require.True(t, strings.HasSuffix(markdown.(*family.Result).Text, "\n\n> Not converted: "+remark))
		}
	}
	require.Contains(t, log.String(), `"not_converted":["`+remark+`"]`)
}

// A text of a document that looks like a remark is none.
func TestLosses_OnlyRemarks(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("d", nil)
	b.Paragraph(nil, `"losses"`)
	b.Paragraph(b.Group(nil, document.Unspecified, document.LossesName), "in a group of the body")
	d, err := b.Document()
	require.NoError(t, err)
	doc, err := document.Encode(d, 0)
	require.NoError(t, err)
	require.Empty(t, losses(doc))
	require.Empty(t, d.Losses())
	b.Lost("%d things", 3)
	doc, err = document.Encode(d, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"3 things"}, losses(doc))
	require.Equal(t, []string{"3 things"}, d.Losses())
}
