package docling

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// sheet is a workbook of one sheet of numbers.
func sheet(t *testing.T, rows, cols int) []byte {
	t.Helper()
	f := excelize.NewFile()
	w, err := f.NewStreamWriter("Sheet1")
	require.NoError(t, err)
	for row := range rows {
		cells := make([]any, cols)
		for col := range cells {
			cells[col] = row*cols + col
		}
		require.NoError(t, w.SetRow("A"+strconv.Itoa(row+1), cells))
	}
	require.NoError(t, w.Flush())
	var out bytes.Buffer
	require.NoError(t, f.Write(&out))
	require.NoError(t, f.Close())
	return out.Bytes()
}

// What a spreadsheet usually holds is converted, and fits into the message of
// 16 MiB that clients take; of a larger one a part is.
func TestConvert_LargeSheets_S2_CONV_03(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	s := newTestService(t, Options{})
	usual := converted(t, s, "convert_xlsx", carry("usual.xlsx", sheet(t, 1200, 10)))
	quoted, err := json.Marshal(string(usual))
	require.NoError(t, err)
	require.Less(t, len(usual)+len(quoted), 16<<20)
	require.LessOrEqual(t, int64(len(usual)+len(quoted)-2), sizeTwice(usual))

	large := carry("large.xlsx", sheet(t, 24_000, 10))
	refused(t, s, "convert_xlsx", large, codeConversion, worker.TooLarge)
	_, failure := call(t.Context(), s.family(), "convert_xlsx", large)
	require.Contains(t, failure.Message, "options.row_range")
	large["options"] = args{"row_range": []any{1000, 1002.0}}
	var d document.Document
	require.NoError(t, json.Unmarshal(converted(t, s, "convert_xlsx", large), &d))
	require.Len(t, d.Tables, 1)
	require.Equal(t, 3, d.Tables[0].Data.NumRows)
	require.Equal(t, "9990", d.Tables[0].Data.Cells[0].Text)
	delete(large, "options")
	converted(t, newTestService(t, Options{MaxResult: 64 << 20}), "convert_xlsx", large)
}

// A sheet of 20,000 rows is in its answer once, as text, and its conversion takes at
// most 300 MB.
func TestConvert_20000Rows(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	s := newTestService(t, Options{Memory: 300 << 20})
	args := carry("large.xlsx", sheet(t, 20_000, 5))
	res, failure := call(t.Context(), s.family(), "convert_xlsx", args)
	require.Nil(t, failure)
	answer, ok := res.(*family.Result)
	require.True(t, ok)
	require.Nil(t, answer.Payload)
	doc := json.RawMessage(answer.Text)
	_, size := sizes(doc)
	require.Less(t, size, int64(maxAnswer))
	d, err := document.Decode(doc)
	require.NoError(t, err)
	require.Len(t, d.Tables[0].Data.Cells, 100_000)
	require.Equal(t, "99999", d.Tables[0].Data.Cells[99_999].Text)
	require.NotContains(t, string(doc), `"grid"`)

	exported, failure := call(t.Context(), s.family(), "export_markdown", map[string]any{"document": doc})
	require.Nil(t, failure)
	require.Contains(t, exported.(*family.Result).Text, "99999")
}

// sizeTwice is how large an answer is that has a document in both ways.
func sizeTwice(doc []byte) int64 {
	structured, text := sizes(doc)
	return structured + text
}

func TestAnswerSize(t *testing.T) {
	t.Parallel()
	doc, err := family.Encode(map[string]string{"a": strings.Repeat(`<"&\>`, 100) + "ü\u2028\n"})
	require.NoError(t, err)
	text, err := json.Marshal(string(doc))
	require.NoError(t, err)
	content, err := json.Marshal(doc)
	require.NoError(t, err)
	require.LessOrEqual(t, int64(len(text)-2+len(content)), sizeTwice(doc)+8)
}

// A reader that knows no version as late gets one that it knows (tools.md §9.2).
func TestVersion_OfOlderReaders(t *testing.T) {
	t.Parallel()
	var d document.Document
	require.NoError(t, json.Unmarshal(converted(t, newTestService(t, Options{Version: "1.3.0"}), "convert_docx", args{"file_path": "handbook.docx"}), &d))
	require.Equal(t, "1.3.0", d.Version)
	for _, version := range []string{"2.0.0", "1.99.0", "new"} {
		_, err := New(Options{Version: version})
		require.ErrorIs(t, err, document.ErrSchema)
	}
}
