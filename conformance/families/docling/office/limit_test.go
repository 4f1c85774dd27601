package office_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

// What is larger than wanted is given up before it is built, and what is not
// never is.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	const paragraph = `<w:p><w:r><w:t>x</w:t></w:r></w:p>`
	files := map[string][]byte{
		"many.docx": word(t, strings.Repeat(paragraph, 1000)),
		"many.xlsx": corpusFile(t, "budget.xlsx"), "few.docx": corpusFile(t, "timetable.docx"), "some.docx": corpusFile(t, "handbook.docx"), "talk.pptx": corpusFile(t, "talk.pptx"),
	}
	for name, data := range files {
		read := readers[name[strings.IndexByte(name, '.'):]]
		d, err := read(t.Context(), data, name, office.Options{})
		require.NoError(t, err)
		whole, err := document.Encode(d, 0)
		require.NoError(t, err)
		_, err = read(t.Context(), data, name, office.Options{MaxBytes: int64(len(whole))})
		require.NoError(t, err, name)
		var failed *office.Error
		_, err = read(t.Context(), data, name, office.Options{MaxBytes: 300})
		require.ErrorAs(t, err, &failed, name)
		require.Equal(t, office.TooLarge, failed.Reason)
	}
}
