package docling

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

const codeInvalid = -32602

func TestNew(t *testing.T) {
	t.Parallel()
	f, err := New(Options{})
	require.NoError(t, err)
	var names []string
	for _, tool := range f.Tools {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Description)
		require.True(t, tool.ReadOnly)
		require.True(t, json.Valid(tool.InputSchema))
	}
	require.Equal(t, []string{
		"convert_pdf", "convert_docx", "convert_xlsx", "convert_pptx", "convert_url", "export_markdown", "export_html", "export_json",
	}, names)
	_, err = New(Options{InputRoots: []string{filepath.Join(t.TempDir(), "missing")}})
	require.Error(t, err)
}

func TestDeadline_S2_ROUTE_02(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	require.Equal(t, 60*time.Second, deadline(mib*99/10))
	require.Equal(t, 180*time.Second, deadline(10*mib))
	require.Equal(t, 180*time.Second, deadline(50*mib-1))
	require.Equal(t, 300*time.Second, deadline(50*mib))
	require.Equal(t, 180*time.Second, urlDeadline)
	require.Equal(t, 60*time.Second, exportDeadline)
}

func TestConvert_Arguments_S2_CONV_13(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	report := mustRead(t, filepath.Join(corpus, "report.pdf"))
	both := carry("report.pdf", report)
	both["file_path"] = "report.pdf"
	for name, a := range map[string]any{
		"neither": args{}, "both": both, "content alone": args{"content_base64": ""}, "name alone": args{"filename": "a.pdf"},
		"path and name": args{"file_path": "report.pdf", "filename": "report.pdf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, s, "convert_pdf", a, codeInvalid, "one_of")
		})
	}
	for _, tt := range []struct {
		reason string
		a      any
	}{
		{"type", args{"file_path": 3}},
		{"type", args{"file_path": nil}},
		{"length", args{"file_path": ""}},
		{"path", args{"file_path": "a\x00.pdf"}},
		{"extension", args{"file_path": "report"}},
		{"extension", carry("report.docx", report)},
		{"path", carry("../report.pdf", report)},
		{"length", carry("", report)},
		{"encoding", args{"filename": "a.pdf", "content_base64": "%%%"}},
		{"type", args{"filename": "a.pdf", "content_base64": 1}},
		{"unknown", args{"file_path": "report.pdf", "x": 1}},
		{"type", []int{1}},
		{"type", args{"file_path": "report.pdf", "options": 1}},
		{"type", args{"file_path": "report.pdf", "options": nil}},
		{"type", args{"file_path": "report.pdf", "options": args{"max_pages": "1"}}},
		{"range", args{"file_path": "report.pdf", "options": args{"max_pages": 0}}},
		{"range", args{"file_path": "report.pdf", "options": args{"page_range": []int{2, 1}}}},
		{"range", args{"file_path": "report.pdf", "options": args{"page_range": []int{1}}}},
		{"range", args{"file_path": "report.pdf", "options": args{"row_range": []int{0, 1}}}},
		{"type", args{"file_path": "report.pdf", "options": args{"row_range": []any{1, "2"}}}},
		{"enum", args{"file_path": "report.pdf", "options": args{"image_mode": "drawn"}}},
		{"type", args{"file_path": "report.pdf", "options": args{"indent": 1.5}}},
	} {
		refused(t, s, "convert_pdf", tt.a, codeInvalid, tt.reason)
	}
}

func TestConvert_Input_S2_CONV_08(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("empty.pdf", "")
	write("text.pdf", "just text")
	write("zip.pdf", "PK\x03\x04")
	write("pdf.docx", "%PDF-1.4")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.pdf"), 0o700))
	s := newTestService(t, Options{InputRoots: []string{dir}})
	refused(t, s, "convert_pdf", args{"file_path": "missing.pdf"}, codeInvalid, "not_found")
	refused(t, s, "convert_pdf", args{"file_path": filepath.Join(dir, "missing.pdf")}, codeInvalid, "not_found")
	refused(t, s, "convert_pdf", args{"file_path": "folder.pdf"}, codeInvalid, "directory")
	refusedAt(t, s, "convert_pdf", args{"file_path": "empty.pdf"}, codeConversion, "read", worker.Empty)
	refused(t, s, "convert_pdf", carry("empty.pdf", nil), codeConversion, worker.Empty)
	for _, name := range []string{"text.pdf", "zip.pdf"} {
		refusedAt(t, s, "convert_pdf", args{"file_path": name}, codeConversion, "detect", worker.Unsupported)
	}
	refused(t, s, "convert_docx", args{"file_path": "pdf.docx"}, codeConversion, worker.Unsupported)
	refused(t, s, "convert_docx", carry("x.docx", mustRead(t, filepath.Join(corpus, "report.pdf"))), codeConversion, worker.Unsupported)
}

// Templates and files with macros are of the same format.
func TestConvert_SiblingExtensions_S2_CONV_08(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	for name, from := range map[string]string{"a.DOTX": "handbook.docx", "a.docm": "handbook.docx", "a.xlsm": "budget.xlsx", "a.ppsx": "talk.pptx"} {
		converted(t, s, "convert_"+from[len(from)-4:], carry(name, mustRead(t, filepath.Join(corpus, from))))
	}
	refused(t, s, "convert_docx", carry("a.xlsm", mustRead(t, filepath.Join(corpus, "budget.xlsx"))), codeInvalid, "extension")
}

// ERR-05: servers of the stateless era must not send -32002. The rest of the
// error stays.
func TestConvert_CodeOfTheEra(t *testing.T) {
	t.Parallel()
	f := newTestService(t, Options{}).family()
	raw, err := json.Marshal(carry("x.docx", []byte("text")))
	require.NoError(t, err)
	var data []map[string]any
	for version, code := range map[string]int64{"2024-11-05": -32002, "2025-11-25": -32002, "2026-07-28": -31002} {
		c := family.NewCall("convert_docx", raw, slog.New(slog.DiscardHandler))
		c.Origin.Version = version
		_, err := f.Tools[1].Handle(t.Context(), c)
		failure := f.Failure(err)
		require.Equal(t, code, failure.Code, version)
		require.Contains(t, failure.Message, "Document conversion failed: ")
		data = append(data, failure.Data)
	}
	require.Equal(t, data[0], data[1])
	require.Equal(t, data[0], data[2])
}

func TestConvert_Roots_S2_CONV_11(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	report := mustRead(t, filepath.Join(corpus, "report.pdf"))
	for _, dir := range []string{root, outside} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "report.pdf"), report, 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(outside, "report.pdf"), filepath.Join(root, "escape.pdf")))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "dir")))
	require.NoError(t, os.Symlink(filepath.Join(root, "report.pdf"), filepath.Join(root, "inner.pdf")))
	s := newTestService(t, Options{InputRoots: []string{root}})
	for _, path := range []string{
		filepath.Join(outside, "report.pdf"), "../outside/report.pdf", filepath.Join(root, "../outside/report.pdf"),
		"escape.pdf", "dir/report.pdf", filepath.Join(outside, "missing.pdf"), "../nowhere.pdf",
	} {
		refused(t, s, "convert_pdf", args{"file_path": path}, codeInvalid, "outside_roots")
	}
	for _, path := range []string{"report.pdf", "inner.pdf", filepath.Join(root, "report.pdf"), "./x/../report.pdf"} {
		if path == "./x/../report.pdf" { // goes through a folder that does not exist
			refused(t, s, "convert_pdf", args{"file_path": "./x/missing.pdf"}, codeInvalid, "not_found")
		}
		converted(t, s, "convert_pdf", args{"file_path": path})
	}
	none, err := newService(Options{})
	require.NoError(t, err)
	refused(t, none, "convert_pdf", args{"file_path": filepath.Join(root, "report.pdf")}, codeInvalid, "outside_roots")
}

func TestConvert_PageOptions(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	pages := func(options args) []string {
		var d struct {
			Pages map[string]any `json:"pages"`
		}
		doc := converted(t, s, "convert_pdf", args{"file_path": "station.pdf", "options": options})
		require.NoError(t, json.Unmarshal(doc, &d))
		var out []string
		for _, no := range []string{"1", "2", "3"} {
			if d.Pages[no] != nil {
				out = append(out, no)
			}
		}
		return out
	}
	require.Equal(t, []string{"1", "2", "3"}, pages(args{"unknown": []int{1}}))
	require.Equal(t, []string{"2", "3"}, pages(args{"page_range": []int{2, 9}}))
	require.Equal(t, []string{"2"}, pages(args{"page_range": []int{2, 3}, "max_pages": 1}))
	refused(t, s, "convert_pdf", args{"file_path": "station.pdf", "options": args{"page_range": []int{4, 5}}}, codeConversion, worker.Empty)
}

func TestConvert_Encrypted_S2_CONV_09(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	refusedAt(t, s, "convert_pdf", args{"file_path": "encrypted.pdf"}, codeConversion, "convert", worker.Encrypted)
	whole := mustRead(t, filepath.Join(corpus, "report.pdf"))
	refused(t, s, "convert_pdf", carry("cut.pdf", whole[:len(whole)/2]), codeConversion, worker.Corrupt)
}

func TestConvert_Limits(t *testing.T) {
	t.Parallel()
	small := newTestService(t, Options{MaxResult: 2000})
	refused(t, small, "convert_pdf", args{"file_path": "report.pdf"}, codeConversion, worker.TooLarge)

	slow := newTestService(t, Options{})
	slow.deadline = func(int64) time.Duration { return time.Nanosecond }
	refused(t, slow, "convert_pdf", args{"file_path": "report.pdf"}, codeTimeout, "timeout")

	gone := newTestService(t, Options{Command: []string{filepath.Join(t.TempDir(), "missing")}})
	refused(t, gone, "convert_pdf", args{"file_path": "report.pdf"}, codeUnavailable, "unavailable")

	large := filepath.Join(t.TempDir(), "large.docx")
	require.NoError(t, os.WriteFile(large, zipMagic, 0o600))
	require.NoError(t, os.Truncate(large, 50<<20+1)) // a hole on the disk
	roomy := newTestService(t, Options{InputRoots: []string{filepath.Dir(large)}})
	refused(t, roomy, "convert_docx", args{"file_path": "large.docx"}, codeConversion, worker.TooLarge)
}

func TestConvert_BusyAndCancel_S2_CONV_14(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{Parallel: 1, Queue: -1, AllowNetworks: loopback})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var cancelled *family.Error
	loop := carry("loop.pdf", endless())
	wg.Go(func() {
		for cancelled == nil || cancelled.Data["reason"] == "busy" { // the probe below may have the place
			_, cancelled = call(ctx, s.family(), "convert_pdf", loop)
		}
	})
	for {
		_, failure := call(t.Context(), s.family(), "convert_pdf", args{"file_path": "report.pdf"})
		if failure != nil && failure.Code == codeUnavailable && failure.Data["reason"] == "busy" {
			break
		}
	}
	cancel()
	wg.Wait()
	require.Equal(t, "cancelled", cancelled.Data["reason"])
	converted(t, s, "convert_pdf", args{"file_path": "report.pdf"})
}

// endless is a PDF that takes minutes: a page of nearly as much as a page may
// draw, a thousand times.
func endless() []byte {
	return packPDF([]int{1, 2, 3, 4, 5}, map[int][]byte{
		1: []byte("<</Type/Catalog/Pages 2 0 R>>"), 2: []byte("<</Type/Pages/Kids[" + strings.Repeat("3 0 R ", 1000) + "]/Count 1000>>"),
		3: []byte("<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>>>"),
		4: stream("", strings.Repeat("/F Do ", 1000)), 5: stream("/Type/XObject/Subtype/Form/BBox[0 0 1 1]", strings.Repeat("q Q ", 350)),
	}, "1")
}

func stream(dict, content string) []byte {
	return []byte("<<" + dict + "/Length " + strconv.Itoa(len(content)) + ">>\nstream\n" + content + "\nendstream")
}

func TestURL_S2_CONV_12(t *testing.T) {
	t.Parallel()
	srv := site(t)
	port := srv.Listener.Addr().String()[strings.LastIndex(srv.Listener.Addr().String(), ":"):]
	s := newTestService(t, Options{})
	for _, u := range []string{srv.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://169.254.169.254/latest", "http://10.0.0.1/", "http://[fd00::1]/", "http://2130706433/", "http://0x7f.1/"} {
		refused(t, s, "convert_url", args{"url": u}, codeInvalid, "blocked")
	}
	for _, u := range []string{"ftp://example.com/x", "file:///etc/passwd", "example.com", "http://", "http://u:p@example.com/", "http:x", "http://example.com:99999/", "http://example.com:0/"} {
		refused(t, s, "convert_url", args{"url": u}, codeInvalid, "url")
	}
	refused(t, s, "convert_url", args{"url": "http://example.com/" + strings.Repeat("x", 2048)}, codeInvalid, "length")
	refused(t, s, "convert_url", args{}, codeInvalid, "missing")
	refused(t, s, "convert_url", args{"url": 1}, codeInvalid, "type")

	mux := http.NewServeMux()
	mux.Handle("/in", http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/ftp", http.RedirectHandler("ftp://x/", http.StatusFound))
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") })
	mux.HandleFunc("/image", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG")
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	redirects := httptest.NewServer(mux)
	defer redirects.Close()
	s = newTestService(t, Options{AllowNetworks: loopback})
	refused(t, s, "convert_url", args{"url": redirects.URL + "/in"}, codeInvalid, "blocked")
	refused(t, s, "convert_url", args{"url": redirects.URL + "/loop"}, codeInvalid, "redirects")
	refused(t, s, "convert_url", args{"url": redirects.URL + "/ftp"}, codeInvalid, "redirect")
	refused(t, s, "convert_url", args{"url": redirects.URL + "/missing"}, codeInvalid, "status")
	refused(t, s, "convert_url", args{"url": redirects.URL + "/broken"}, codeUnavailable, "unavailable")
	refused(t, s, "convert_url", args{"url": redirects.URL + "/empty"}, codeConversion, worker.Empty)
	refused(t, s, "convert_url", args{"url": redirects.URL + "/image"}, codeConversion, worker.Unsupported)
	s.deadline = func(int64) time.Duration { return 50 * time.Millisecond }
	refused(t, s, "convert_url", args{"url": redirects.URL + "/slow"}, codeTimeout, "timeout")
}

func TestURL_FilesByContentType(t *testing.T) {
	t.Parallel()
	srv := site(t)
	s := newTestService(t, Options{AllowNetworks: loopback})
	for i := range fileFormats {
		f := &fileFormats[i]
		for _, path := range files(t, f.extension)[:1] {
			name := filepath.Base(path)
			for _, kind := range []string{f.mimeTypes[0], "application/octet-stream"} {
				doc := converted(t, s, "convert_url", args{"url": srv.URL + "/typed/" + url.PathEscape(strings.ReplaceAll(kind, "/", "_")) + "/" + name})
				local := converted(t, s, "convert_"+f.name, args{"file_path": name})
				require.Equal(t, string(local), string(doc))
			}
		}
	}
	refused(t, s, "convert_url", args{"url": srv.URL + "/typed/application_pdf/article.html"}, codeConversion, worker.Unsupported)
	converted(t, s, "convert_url", args{"url": srv.URL + "/typed/application_octet-stream/article.html"})
}

func TestExport_S2_EXP_05(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	good := converted(t, s, "convert_pdf", args{"file_path": "report.pdf"})
	change := func(f func(d map[string]any)) map[string]any {
		var d map[string]any
		dec := json.NewDecoder(bytes.NewReader(good))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&d))
		f(d)
		return d
	}
	body := func(d map[string]any) map[string]any { return d["body"].(map[string]any) }
	for _, tool := range []string{"export_markdown", "export_html", "export_json"} {
		for name, doc := range map[string]any{
			"text": "x", "null": nil, "other schema": args{"schema_name": "Other", "name": "x"}, "no schema": args{"name": "x"},
			"no name": args{"schema_name": document.SchemaName}, "version of another type": args{"schema_name": document.SchemaName, "name": "x", "version": 1},
			"a later version": change(func(d map[string]any) { d["version"] = "2.0.0" }),
		} {
			_, failure := call(t.Context(), s.family(), tool, args{"document": doc})
			require.NotNil(t, failure, name)
			require.EqualValues(t, codeInvalid, failure.Code, name)
		}
		refused(t, s, tool, args{}, codeInvalid, "missing")
		for _, doc := range map[string]any{
			"dangling": change(func(d map[string]any) {
				body(d)["children"] = append(body(d)["children"].([]any), args{"$ref": "#/texts/999"})
			}),
			"cycle": change(func(d map[string]any) {
				d["groups"].([]any)[0].(map[string]any)["children"] = []any{args{"$ref": "#/body"}}
			}),
		} {
			refusedAt(t, s, tool, args{"document": doc}, codeExport, "read", worker.Corrupt)
		}
	}
}

func TestExport_Results(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	doc := converted(t, s, "convert_pdf", args{"file_path": "station.pdf"})
	for format, want := range map[string]string{"markdown": "# The lake station", "html": "<h1>The lake station</h1>", "json": `"schema_name": "DoclingDocument"`} {
		res, failure := call(t.Context(), s.family(), "export_"+format, args{"document": doc})
		require.Nil(t, failure)
		r := res.(*family.Result)
		require.Contains(t, r.Text, want)
		require.Equal(t, &exported{format, r.Text, len(r.Text)}, r.Payload)
		if format == "json" {
			continue
		}
		require.NotContains(t, r.Text, "Page 1 of 3")
		res, failure = call(t.Context(), s.family(), "export_"+format, args{"document": doc, "options": args{"include_furniture": true}})
		require.Nil(t, failure)
		require.Contains(t, res.(*family.Result).Text, "Page 1 of 3")
	}
}

// The text of an export is the content alone, also where that is nothing
// (tools.md §4.7).
func TestExport_OfNothing_S2_EXP_01(t *testing.T) {
	t.Parallel()
	d, err := document.NewBuilder("nothing", nil).Document()
	require.NoError(t, err)
	res, failure := call(t.Context(), newTestService(t, Options{}).family(), "export_markdown", args{"document": d})
	require.Nil(t, failure)
	require.Equal(t, &family.Result{Payload: &exported{Format: "markdown"}, Verbatim: true}, res)
}

func TestExport_TakesNoLonger_S2_ROUTE_02(t *testing.T) {
	t.Parallel()
	d, err := document.NewBuilder("nothing", nil).Document()
	require.NoError(t, err)
	f := &family.Family{Name: Name, Profile: Name, Classify: classify, Tools: []family.Tool{exportTool("json", "JSON", time.Nanosecond)}}
	_, failure := call(t.Context(), f, "export_json", args{"document": d})
	require.NotNil(t, failure)
	require.EqualValues(t, codeTimeout, failure.Code)
}

func TestConvert_CarriedTooLarge(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	small := fileFormats[1]
	small.most = 10
	_, err := carried(family.Args{"filename": []byte(`"a.docx"`), "content_base64": []byte(`"` + base64.StdEncoding.EncodeToString(make([]byte, 20)) + `"`)}, &small)
	require.Equal(t, worker.TooLarge, s.family().Failure(err).Data["reason"])
}

// The header of a PDF file may come after up to 1,024 bytes, as other readers have it.
func TestPDFHeaderComesLater(t *testing.T) {
	t.Parallel()
	s := newTestService(t, Options{})
	file := mustRead(t, files(t, ".pdf")[0])
	for name, before := range map[string]string{"BOM": "\ufeff", "line end": "\r\n", "junk": strings.Repeat("x", 1000)} {
		require.NotEmpty(t, converted(t, s, "convert_pdf", carry(name+".pdf", append([]byte(before), file...))))
	}
	late := append(bytes.Repeat([]byte("x"), 1024), file...)
	refusedAt(t, s, "convert_pdf", carry("late.pdf", late), codeConversion, "detect", worker.Unsupported)
}
