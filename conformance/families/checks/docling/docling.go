// Package docling has the checks of the document tools: reading, converting, exporting.
package docling

import (
	"embed"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ToolPDF converts a PDF; the tables name the other tools of the family.
const ToolPDF = "convert_pdf"

// tables are the checks that are calls, one after the other.
//
//go:generate gzip -9nkf tables.txt
//go:embed tables.txt.gz
var tables string

// Area is the area of the family's checks in a report.
const Area = "docling"

// Codes of the docling profile beside JSON-RPC's own.
const (
	codeUnavailable    = -32000
	codeConvertTimeout = -32001
	CodeConversion     = -32002
	codeExport         = -32003
)

// doclingSamples are documents that office programs wrote, the ones the
// reference server's own tests convert.
//
//go:embed fixtures/documents
var doclingSamples embed.FS

// sample returns a document by its name.
func sample(name string) ([]byte, error) {
	data, err := doclingSamples.ReadFile("fixtures/documents/" + name)
	return data, engine.SuiteError(err)
}

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	all := table.Scenarios(table.MustRead(tables, table.Words{
		Area: Area, Needs: func(tools []string) engine.Needs { return doclingNeeds(tools...) }, Make: makeDocling, That: judgements, Phrases: phrases,
		Suits: map[string]func(r *table.Run) (string, error){"shared folder": sharedInputs, "reachable": reachable},
	})...)
	return append(all,
		NotObserved("S2-CONV-14", doclingNeeds(), "a look at the server's converters"),
		engine.Scenario{ID: "S2-CONV-15", Needs: doclingNeeds("convert_docx"), Run: convertInParallel},
	)
}

// doclingNeeds are the two first tools, which tell the family from servers that
// have one tool of such a name by chance.
func doclingNeeds(tools ...string) engine.Needs {
	return engine.Needs{
		Capability: "tools", Profile: profile.Docling, SideEffects: conformance.SideEffectsReadOnly,
		Tools: slices.Compact(append([]string{ToolPDF, "export_markdown"}, tools...)),
	}
}

// NotObserved is a requirement no subject offers the means to judge.
func NotObserved(id string, needs engine.Needs, control string) engine.Scenario {
	needs.Control = control
	return engine.Scenario{ID: id, Needs: needs}
}

// makeDocling makes what calls carry: samples by their names, documents to
// export, files below the server's root, and a page on this machine.
func makeDocling(r *table.Run, name string) (any, error) {
	if change, there := hostileFiles[name]; there {
		data, err := change()
		return base64.StdEncoding.EncodeToString(data), err
	}
	if build, there := exportDocuments[name]; there {
		return build(), nil
	}
	switch name {
	case "inside", "outside", "link":
		return inputFile(r, name)
	case "site":
		return site(r)
	case "text.pdf":
		return base64.StdEncoding.EncodeToString([]byte("just text\n")), nil
	case "long-url":
		return "http://10.0.0.1/" + strings.Repeat("x", 2048), nil
	}
	data, err := sample(name)
	return base64.StdEncoding.EncodeToString(data), err
}

// sharedInputs keeps a table to servers whose folder of documents the suite
// fills.
func sharedInputs(r *table.Run) (string, error) {
	if surroundings.Of(r.Trial).Inputs == "" {
		return "needs a folder of documents that the server may read", nil
	}
	return "", nil
}

// reachable keeps a table to servers that may fetch from this machine.
func reachable(r *table.Run) (string, error) {
	site, err := r.Value("site")
	if err != nil {
		return "", err
	}
	doc, err := r.Prepare("convert_url", table.Members{"url": site, "options": table.Members{}})
	if err == nil && doc["error"] != nil {
		return "needs a server that may reach this machine", nil
	}
	return "", err
}

// inputFile puts a sample below the folder the server reads, beside it, or
// beside it with a link to it from below.
func inputFile(r *table.Run, name string) (any, error) {
	data, err := sample("report.pdf")
	if err != nil {
		return nil, err
	}
	below, err := os.MkdirTemp(surroundings.Of(r.Trial).Inputs, "suite-")
	if err != nil {
		return nil, engine.SuiteError(err)
	}
	r.Folders = append(r.Folders, below)
	dir := below
	if name != "inside" {
		if dir, err = r.Folder(); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "report.pdf")
	if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // the server may be another user
		return nil, engine.SuiteError(err)
	}
	if name == "link" {
		link := filepath.Join(below, "link.pdf")
		return link, engine.SuiteError(os.Symlink(path, link))
	}
	return path, nil
}

// sitePage is the page of a site on this machine.
const sitePage = `<!DOCTYPE html><html><head><title>Site</title><style>p { color: red }</style><script>var planted = "script"</script></head>
<body><h1>The site of the suite</h1><p>Read <a href="https://example.com/more">more</a>.</p><h2>Parts</h2><ul><li>one</li><li>two</li></ul>
<table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td>1</td></tr></table></body></html>`

// site starts a site on this machine and keeps as hits how often it was reached.
func site(r *table.Run) (any, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, engine.SuiteError(err)
	}
	hits := &atomic.Int64{}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(sitePage)) // a server that has gone reads nothing
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is closed
	}()
	r.OnFinish(func() {
		_ = server.Close() // its clients have gone
		<-done
	})
	r.Kept["hits"] = hits
	return fmt.Sprintf("http://%s/page", listener.Addr()), nil
}

// convertInParallel judges conversions at the same time.
func convertInParallel(t *engine.Trial) {
	s := t.Shared()
	type job struct{ tool, name, want, id string }
	jobs := []job{{tool: ToolPDF, name: "report.pdf"}, {tool: "convert_docx", name: "handbook.docx"}}
	ask := func(j *job) {
		data, err := sample(j.name)
		t.NoError(err)
		j.id, err = s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(j.tool, map[string]any{"content_base64": base64.StdEncoding.EncodeToString(data), "filename": j.name}))
		t.NoError(err)
	}
	result := func(id string) string {
		a, err := s.Await(t.Ctx, id)
		t.NoError(err)
		return table.TextAt(table.Outcome(a), "text")
	}
	for i := range jobs {
		ask(&jobs[i])
		jobs[i].want = result(jobs[i].id)
	}
	var all []job
	for range 4 {
		all = append(all, jobs...)
	}
	for i := range all {
		ask(&all[i])
	}
	var wrong []string
	for _, j := range all {
		got := result(j.id)
		if got != j.want || got == "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", j.name, rawjson.Clip(got, 100)))
		}
	}
	t.Check("S2-CONV-15", len(wrong) == 0, "the same documents", "%d of 8 differ: %s", len(wrong), strings.Join(wrong, "; "))
}
