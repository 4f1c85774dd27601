package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// TestCorpus converts the corpus as a client would, with a server that it starts, and
// compares the words with those that other programs read. scripts/corpus.sh sets:
//
//	MAINSTAY_CORPUS_FILES   folder of the documents
//	MAINSTAY_CORPUS_TEXTS   folder that keeps the texts of the other programs
//	MAINSTAY_CORPUS_NODE    the program node
//	MAINSTAY_CORPUS_SCRIPT  references.mjs beside its packages
//	MAINSTAY_CORPUS_SERVER  the program refserver
//	MAINSTAY_CORPUS_REPORT  file for the report
//	MAINSTAY_CORPUS_FLOORS  file to write the floors to, instead of looking at them
//	MAINSTAY_CORPUS_ONLY    part of the names to convert (default: all)
func TestCorpus(t *testing.T) {
	refs := References{
		Files: os.Getenv("MAINSTAY_CORPUS_FILES"), Texts: os.Getenv("MAINSTAY_CORPUS_TEXTS"),
		Node: os.Getenv("MAINSTAY_CORPUS_NODE"), Script: os.Getenv("MAINSTAY_CORPUS_SCRIPT"),
	}
	if refs.Files == "" {
		t.Skip("scripts/corpus.sh fetches the corpus, and runs this")
	}
	docs, err := Manifest()
	require.NoError(t, err)
	docs = fetched(t, &refs, docs)
	require.NoError(t, refs.Prepare(t.Context(), docs))

	results := make([]Result, len(docs))
	srv := connect(t, refs.Files)
	var wg sync.WaitGroup
	turns := make(chan struct{}, 2)
	for i := range docs {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			texts, err := refs.Of(&docs[i])
			if err == nil {
				text, ordered, refused := convert(t, srv, &docs[i])
				results[i], err = Judge(&docs[i], text, refused, texts)
				results[i].Order = BestOrder(ordered, texts)
			}
			if err != nil {
				t.Error(err)
				results[i] = Result{Document: &docs[i], Refused: err.Error()}
			}
		})
	}
	wg.Wait()

	table, failures := Summary(results)
	if path := os.Getenv("MAINSTAY_CORPUS_FLOORS"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(FormatFloors(results)), 0o600))
	} else {
		floors, err := Floors()
		require.NoError(t, err)
		failures = append(failures, Fallen(results, floors)...)
	}
	var report strings.Builder
	report.WriteString("     recall prec  order  words\n")
	for _, r := range results {
		report.WriteString(r.String() + "\n")
	}
	report.WriteString("\n" + table + strings.Join(failures, "\n") + "\n")
	require.NoError(t, os.WriteFile(os.Getenv("MAINSTAY_CORPUS_REPORT"), []byte(report.String()), 0o600))
	require.Empty(t, failures)
}

// fetched are the documents that are there. Each must be the file that the manifest means.
func fetched(t *testing.T, refs *References, docs []Document) []Document {
	t.Helper()
	var there []Document
	for _, d := range docs {
		data, err := os.ReadFile(refs.File(&d))
		if errors.Is(err, fs.ErrNotExist) || !strings.Contains(d.Name(), os.Getenv("MAINSTAY_CORPUS_ONLY")) {
			continue
		}
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, d.SHA256, hex.EncodeToString(sum[:]), d.Name())
		there = append(there, d)
	}
	require.NotEmpty(t, there)
	return there
}

func connect(t *testing.T, roots string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), &transport.Command{
		Argv:   []string{os.Getenv("MAINSTAY_CORPUS_SERVER"), "--families", "docling", "--docling-max-result", "64"},
		Env:    []string{"DOCLING_INPUT_ROOTS=" + roots},
		Limits: transport.Limits{MessageBytes: 256 << 20},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// convert returns the text of d, also in reading order, or why the server refuses it.
func convert(t *testing.T, c *client.Client, d *Document) (text, ordered, refused string) {
	res, err := c.CallTool(t.Context(), "convert_"+d.Format, map[string]any{"file_path": filepath.Base(d.SHA256 + "." + d.Format)})
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	if err != nil {
		return "", "", err.Error()
	}
	doc, err := document.Decode(res.StructuredContent)
	if err != nil {
		return "", "", "the answer is not a document: " + err.Error()
	}
	return Text(d.Format, doc), Ordered(d.Format, doc), ""
}
