package docling

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	document, ok := res.(json.RawMessage)
	require.True(b, ok)
	inputs := map[string]args{"convert_url": {"url": srv.URL + "/article.html"}}
	for i := range fileFormats {
		inputs["convert_"+fileFormats[i].name] = args{"file_path": filepath.Base(files(b, fileFormats[i].extension)[0])}
	}
	for _, tool := range f.Tools {
		input := inputs[tool.Name]
		if input == nil {
			input = args{"document": document}
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
