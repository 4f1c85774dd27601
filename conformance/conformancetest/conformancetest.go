// Package conformancetest makes the conformance suite a test of a server: a
// server author writes one test function.
//
//	func TestConformance(t *testing.T) {
//		conformancetest.Run(t, conformance.InProcess(serve), conformance.Options{})
//	}
//
// A server that is an http.Handler has [RunHandler], and one that closes its streams itself has
// [RunStdio]. With go-sdk and with mcp-go that is one line:
//
//	conformancetest.RunHandler(t, mcp.NewStreamableHTTPHandler(getServer, nil), opts)
//	conformancetest.RunHandler(t, server.NewStreamableHTTPServer(s), opts)
//
// Each check is a subtest under its id, so that -run, dashboards and editors
// see them one by one.
package conformancetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/report"
)

// Run judges the subject and makes a subtest of each check that was asked for,
// in a subtest of its revision. A broken rule fails its subtest with the frames
// that show it; a recommendation that is not followed, and a known failure, are
// logged; what does not apply is skipped with its reason; a requirement that
// is inconclusive fails. A subject that never answers, or options that
// cannot work, end the test. Run returns the report when all subtests ended.
//
// The run stops with t.Context. What it costs is the time of a whole run, also
// where -run selects one subtest: Options.Only saves it.
func Run(t *testing.T, subject conformance.Subject, opts conformance.Options) *conformance.Report {
	t.Helper()
	r, err := checks.Run(t.Context(), subject, opts)
	if err != nil {
		t.Fatalf("conformance: %v", err)
	}
	subtests(t, r)
	if v := r.Verdict(); v == conformance.VerdictInconclusive && !t.Failed() {
		t.Errorf("conformance: %s: no requirement could be judged", v)
	}
	return r
}

// RunHandler is [Run] for a server of streamable HTTP, which serves on a port of this machine
// until the run ends. The path of its endpoint is /mcp.
func RunHandler(t *testing.T, handler http.Handler, opts conformance.Options) *conformance.Report {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	defer server.CloseClientConnections()
	return Run(t, conformance.URL(server.URL+"/mcp", nil), opts)
}

// RunStdio is [Run] for a server of newline-delimited JSON-RPC that closes its streams itself, as
// the IOTransport of go-sdk does. serve is called for each session, and sessions may overlap.
//
//	conformancetest.RunStdio(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
//		return server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
//	}, conformance.Options{})
func RunStdio(t *testing.T, serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error, opts conformance.Options) *conformance.Report {
	t.Helper()
	return Run(t, conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error {
		return serve(ctx, in.(io.ReadCloser), out.(io.WriteCloser)) // the suite serves functions on pipes
	}), opts)
}

// subtests tells t of each result.
func subtests(t *testing.T, r *conformance.Report) {
	t.Helper()
	for i := range r.Results {
		res := &r.Results[i]
		if res.Reason == conformance.SkipExcluded {
			continue
		}
		t.Run(string(res.Revision)+"/"+res.ID, func(t *testing.T) { tell(t, r, res) })
	}
}

// teller is the part of testing.T that reports a result.
type teller interface {
	Helper()
	Log(args ...any)
	Error(args ...any)
	Skip(args ...any)
}

func tell(t teller, r *conformance.Report, res *conformance.Result) {
	t.Helper()
	text := strings.TrimSpace(report.Finding(r, res))
	open := res.Status == conformance.Inconclusive || res.Status == conformance.Error || res.Reason == conformance.SkipPrerequisite
	required := res.Level == conformance.Must && !res.Excused() && !res.Unscored
	switch {
	case open && required:
		t.Error(text)
	case res.Status == conformance.Skip:
		t.Skip(text)
	case r.Fails(res):
		t.Error(text)
	case res.Status != conformance.Pass:
		t.Log(text)
	}
}
