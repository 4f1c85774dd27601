package docling

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// update writes the golden files again. What it writes has to be looked at,
// beside the pages as a viewer shows them.
var update = flag.Bool("update", false, "write the golden files")

// golden compares a document and its Markdown with the files beside its source.
func golden(t *testing.T, s *service, name string, doc json.RawMessage) {
	t.Helper()
	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, doc, "", " "))
	pretty.WriteByte('\n')
	res, failure := call(t.Context(), s.family(), "export_markdown", args{"document": doc, "options": args{"include_furniture": true}})
	if failure != nil {
		require.NoError(t, failure, "%v", failure.Data)
	}
	markdown := res.(*family.Result).Text + "\n"
	for ext, got := range map[string]string{".json": pretty.String(), ".md": markdown} {
		path := filepath.Join("testdata", "golden", name+ext)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			continue
		}
		require.Equal(t, string(mustRead(t, path)), got, path)
	}
}

// TestGolden_S2_CONV_01 converts the files of the corpus, by path and carried in
// the call (S2-CONV-13), and twice (S2-CONV-07).
func TestGolden_S2_CONV_01(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	for i := range fileFormats {
		format := &fileFormats[i]
		for _, path := range files(t, format.extension) {
			name := filepath.Base(path)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				doc := converted(t, s, "convert_"+format.name, args{"file_path": name})
				if format.name == formatPDF { // those of office files stand beside their reader
					golden(t, s, name, doc)
				}
				if testmain.Race && format.name != formatPDF { // a converter that is carried to does the same once more
					return
				}
				again := converted(t, s, "convert_"+format.name, carry(name, mustRead(t, path)))
				require.Equal(t, string(doc), string(again))
			})
		}
	}
}

// site serves the pages of the corpus at an address that is the same in every
// golden file, and files of other types.
func site(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html") // the charset is the page's own business
		http.ServeFile(w, r, filepath.Join(corpus, filepath.Base(r.PathValue("name"))))
	})
	mux.HandleFunc("/typed/{type}/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.ReplaceAll(r.PathValue("type"), "_", "/"))
		http.ServeFile(w, r, filepath.Join(corpus, filepath.Base(r.PathValue("name"))))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestGolden_S2_CONV_05(t *testing.T) {
	t.Parallel()
	srv := site(t)
	s := newTestService(t, Options{AllowNetworks: loopback})
	pages := files(t, ".html")
	require.GreaterOrEqual(t, len(pages), 4)
	for _, path := range pages {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := converted(t, s, "convert_url", args{"url": srv.URL + "/" + name})
			golden(t, s, name, bytes.ReplaceAll(doc, []byte(srv.URL), []byte("http://site.example")))
			if name != "article.html" { // the others have no content but the main one
				return
			}
			main := converted(t, s, "convert_url", args{"url": srv.URL + "/" + name, "options": args{"main_content_only": true}})
			golden(t, s, name+".main", bytes.ReplaceAll(main, []byte(srv.URL), []byte("http://site.example")))
		})
	}
}

// TestParallel_S2_CONV_15 converts 8 documents at once.
func TestParallel_S2_CONV_15(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	var names []string
	for i := range fileFormats {
		for _, path := range files(t, fileFormats[i].extension) {
			names = append(names, filepath.Base(path))
		}
	}
	serial := make([]string, 8)
	for i := range serial {
		name := names[i%len(names)]
		serial[i] = string(converted(t, s, "convert_"+strings.TrimPrefix(filepath.Ext(name), "."), args{"file_path": name}))
	}
	got := make([]string, len(serial))
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			name := names[i%len(names)]
			res, failure := call(t.Context(), s.family(), "convert_"+strings.TrimPrefix(filepath.Ext(name), "."), args{"file_path": name})
			if failure == nil {
				got[i] = string(res.(json.RawMessage))
			}
		})
	}
	wg.Wait()
	require.Equal(t, serial, got)
}
