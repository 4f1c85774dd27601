package docling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/pdf"
)

// BenchmarkTools runs each tool on a document of the corpus, a process for each
// conversion as the server does it, and reports the percentiles of a call.
func BenchmarkTools(b *testing.B) {
	srv := site(b)
	s, err := newService(Options{InputRoots: []string{corpus}, AllowNetworks: loopback})
	require.NoError(b, err)
	f := s.family()
	res, failure := call(b.Context(), f, "convert_pdf", args{"file_path": "station.pdf"})
	require.Nil(b, failure)
	made, ok := res.(json.RawMessage)
	require.True(b, ok)
	inputs := map[string]args{"convert_url": {"url": srv.URL + "/article.html"}}
	for i := range fileFormats {
		inputs["convert_"+fileFormats[i].name] = args{"file_path": filepath.Base(files(b, fileFormats[i].extension)[0])}
	}
	for _, tool := range f.Tools {
		input := inputs[tool.Name]
		if input == nil {
			input = args{"document": made}
		}
		b.Run(tool.Name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				_, failure := call(b.Context(), f, tool.Name, input)
				took = append(took, time.Since(began))
				require.Nil(b, failure)
			}
			slices.Sort(took)
			for name, at := range map[string]int{"p50-ms": 50, "p95-ms": 95} {
				b.ReportMetric(float64(took[(len(took)-1)*at/100])/float64(time.Millisecond), name)
			}
		})
	}
}

var (
	pagesObject = regexp.MustCompile(`(?s)\n(\d+) 0 obj\s*<</Type/Pages.*?/Kids\[([^\]]*)\]`)
	trailerRoot = regexp.MustCompile(`/Root \d+ 0 R`)
	tableOffset = regexp.MustCompile(`startxref\s+(\d+)`)
)

// long is a PDF file whose pages are there many times over, by an update at its
// end.
func long(b *testing.B, data []byte, times int) []byte {
	b.Helper()
	pages, before := pagesObject.FindSubmatch(data), tableOffset.FindSubmatch(data)
	require.NotNil(b, pages)
	require.NotNil(b, before)
	kids := strings.Repeat(string(pages[2])+" ", times)
	out := bytes.NewBuffer(bytes.Clone(data))
	object := out.Len()
	fmt.Fprintf(out, "%s 0 obj\n<</Type/Pages/Kids[%s]/Count %d>>\nendobj\n", pages[1], kids, strings.Count(kids, "R"))
	table := out.Len()
	fmt.Fprintf(out, "xref\n%s 1\n%010d 00000 n \ntrailer\n<</Size 100%s/Prev %s>>\nstartxref\n%d\n%%%%EOF\n",
		pages[1], object, trailerRoot.Find(data), before[1], table)
	return out.Bytes()
}

// BenchmarkLongPDF reads a PDF file of some 270 pages with text, tables and
// rules, without the process around the reader.
func BenchmarkLongPDF(b *testing.B) {
	data := long(b, mustRead(b, filepath.Join(corpus, "station.pdf")), 90)
	b.ReportAllocs()
	pages := 0
	for b.Loop() {
		doc, err := pdf.Convert(data, pdf.Options{Filename: "long.pdf"})
		require.NoError(b, err)
		_, err = document.Encode(doc, 0)
		require.NoError(b, err)
		pages += len(doc.Pages)
	}
	b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
}
