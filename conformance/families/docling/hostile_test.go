package docling

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// pack writes an archive of name, content pairs.
func pack(t *testing.T, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		require.NoError(t, err)
		_, err = f.Write([]byte(parts[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// infected is a file of the corpus with one part replaced.
func infected(t *testing.T, file, part, content string) []byte {
	t.Helper()
	data := mustRead(t, filepath.Join(corpus, file))
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var parts []string
	found := false
	for _, f := range r.File {
		in, err := f.Open()
		require.NoError(t, err)
		body, err := io.ReadAll(in)
		require.NoError(t, err)
		if f.Name == part {
			body, found = []byte(content), true
		}
		parts = append(parts, f.Name, string(body))
	}
	require.True(t, found, "%s has no %s", file, part)
	return pack(t, parts...)
}

// officeFiles are a file, its main part and its tool.
var officeFiles = [][3]string{
	{"handbook.docx", "word/document.xml", "convert_docx"},
	{"talk.pptx", "ppt/slides/slide1.xml", "convert_pptx"},
	{"cities.xlsx", "xl/worksheets/sheet1.xml", "convert_xlsx"},
}

// hostile requires that a document is refused for one of the reasons; where
// "converted" is among them, what can be read of it may be answered.
func hostile(t *testing.T, s *service, tool string, a args, reasons ...string) {
	t.Helper()
	_, failure := call(t.Context(), s.family(), tool, a)
	if failure == nil {
		require.Contains(t, reasons, "converted")
		return
	}
	require.Contains(t, []int64{codeConversion, codeTimeout}, failure.Code, failure.Message)
	require.Contains(t, reasons, failure.Data["reason"], "%s %v", failure.Message, failure.Err)
	require.Less(t, len(failure.Message), 1000)
}

func TestHostile_Archives_S2_CONV_10(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	s := newTestService(t, Options{Memory: 512 << 20})
	bomb := strings.Repeat("\x00", 80<<20)
	entities := `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">` +
		`<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d SYSTEM "file:///etc/hostname">]><x>&c;&d;</x>`
	deep := strings.Repeat("<a>", 100_000) + strings.Repeat("</a>", 100_000)
	for _, f := range officeFiles {
		for name, content := range map[string]string{"bomb": bomb, "entities": entities, "deep": deep, "nothing": "", "no xml": "\x00\xff"} {
			t.Run(f[0]+" "+name, func(t *testing.T) {
				t.Parallel()
				hostile(t, s, f[2], carry(f[0], infected(t, f[0], f[1], content)), worker.TooLarge, worker.Corrupt, worker.Empty)
			})
		}
		t.Run(f[0]+" truncated", func(t *testing.T) {
			t.Parallel()
			whole := mustRead(t, filepath.Join(corpus, f[0]))
			for _, n := range []int{5, len(whole) / 3, len(whole) - 1} {
				hostile(t, s, f[2], carry(f[0], whole[:n]), worker.Corrupt)
			}
		})
		t.Run(f[0]+" many parts", func(t *testing.T) {
			t.Parallel()
			var parts []string
			for i := range 11_000 {
				parts = append(parts, fmt.Sprintf("x/%d", i), "")
			}
			hostile(t, s, f[2], carry(f[0], pack(t, parts...)), worker.TooLarge, worker.Corrupt, worker.Unsupported)
		})
		t.Run(f[0]+" another format", func(t *testing.T) {
			t.Parallel()
			hostile(t, s, f[2], carry(f[0], pack(t, "mimetype", "application/epub+zip")), worker.Unsupported, worker.Corrupt)
		})
	}
	converted(t, s, "convert_docx", args{"file_path": "handbook.docx"})
}

func TestHostile_PDF_S2_CONV_09(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	s := newTestService(t, Options{Memory: 512 << 20})
	page := "<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>>>"
	catalog := "<</Type/Catalog/Pages 2 0 R>>"
	tree := "<</Type/Pages/Kids[3 0 R]/Count 1>>"
	build := func(objects ...string) []byte {
		all := map[int][]byte{}
		var order []int
		for i, o := range objects {
			all[i+1] = []byte(o)
			order = append(order, i+1)
		}
		return packPDF(order, all, "1")
	}
	for name, tt := range map[string]struct {
		data    []byte
		reasons []string
	}{
		"form that draws itself": {
			build(catalog, tree, page, string(stream("", "/F Do")), string(stream("/Type/XObject/Subtype/Form", strings.Repeat("/F Do ", 2000)))),
			[]string{worker.TooLarge},
		},
		"page that is its own parent": {build(catalog, "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>"), []string{worker.Corrupt}},
		"no pages":                    {build(catalog, "<</Type/Pages/Kids[]/Count 9999999>>"), []string{worker.Empty}},
		"no catalogue":                {build("<<>>"), []string{worker.Empty, worker.Corrupt}},
		"stream that is not":          {build(catalog, tree, page, "<</Length 99999999999>>\nstream\nx\nendstream"), []string{"converted"}},
		"brackets":                    {build(catalog, tree, page, string(stream("", strings.Repeat("[", 1_000_000)))), []string{"converted"}},
		"header alone":                {[]byte("%PDF-1.7\n"), []string{worker.Corrupt}},
		"xref loop": {
			[]byte("%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Prev 9/Root 1 0 R>>\nstartxref\n9\n%%EOF\n"),
			[]string{worker.Corrupt, "timeout"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostile(t, s, "convert_pdf", carry("x.pdf", tt.data), tt.reasons...)
		})
	}
}

func TestHostile_HTML_S2_CONV_09(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	pages := map[string]string{
		"/deep":  strings.Repeat("<div>", 100_000),
		"/lists": strings.Repeat("<ul><li>", 400) + "x",
		"/cells": "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>x", 900), 290) + "</table>",
		"/null":  strings.Repeat("\x00", 1000),
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, pages[r.URL.Path])
	}))
	defer srv.Close()
	s := newTestService(t, Options{AllowNetworks: loopback, Memory: 512 << 20})
	for path := range pages {
		hostile(t, s, "convert_url", args{"url": srv.URL + path}, worker.Corrupt, worker.TooLarge, worker.Empty)
	}
}

// TestHostile_ProcessDies drives a converter out of its memory: the answer is a
// failure of that document, and the next one is converted.
func TestHostile_ProcessDies(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Repeat("<p>x", 1<<20)) // a hundred times as large once it is parsed
	}))
	defer srv.Close()
	s := newTestService(t, Options{AllowNetworks: loopback, Memory: 64 << 20})
	_, failure := call(t.Context(), s.family(), "convert_url", args{"url": srv.URL})
	require.NotNil(t, failure)
	require.Equal(t, worker.TooLarge, failure.Data["reason"], failure.Err)
	require.Regexp(t, "out of memory|allocate|pthread_create", failure.Err.Error())
	converted(t, newTestService(t, Options{}), "convert_pdf", args{"file_path": "report.pdf"})
}
