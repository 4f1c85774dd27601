package office_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

var update = flag.Bool("update", false, "write the golden files")

type reader func(context.Context, []byte, string, office.Options) (*document.Document, error)

var readers = map[string]reader{".docx": office.DOCX, ".pptx": office.PPTX, ".xlsx": office.XLSX}

// corpus is the folder of files that LibreOffice wrote; testdata/make-corpus.sh
// of the docling family makes them.
const corpus = "../testdata/corpus"

func corpusFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	require.NoError(t, err)
	return data
}

func corpusNames(t testing.TB) []string {
	t.Helper()
	var names []string
	for ext := range readers {
		found, err := filepath.Glob(filepath.Join(corpus, "*"+ext))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), 4, ext)
		for _, name := range found {
			names = append(names, filepath.Base(name))
		}
	}
	return names
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// Every file of the corpus gives the document that was looked at when its golden
// files were written, passes the checks, and gives the same bytes twice.
func TestCorpus_S2_CONV_06_07(t *testing.T) {
	t.Parallel()
	for _, name := range corpusNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := corpusFile(t, name)
			read := readers[filepath.Ext(name)]
			d, err := read(t.Context(), data, name, office.Options{})
			require.NoError(t, err)
			require.NoError(t, document.Check(d))
			text, err := export.JSON(d, export.Options{})
			require.NoError(t, err)
			golden(t, name+".json", text+"\n")
			markdown, err := export.Markdown(d, export.Options{})
			require.NoError(t, err)
			golden(t, name+".md", markdown+"\n")

			again, err := document.Decode([]byte(text))
			require.NoError(t, err)
			require.Equal(t, d, again)
			second, err := read(t.Context(), data, name, office.Options{})
			require.NoError(t, err)
			require.Equal(t, d, second)
		})
	}
}
