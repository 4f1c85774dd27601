package suitetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestRun_Cut: what was found before a run is ended is not lost, and what was not
// is no verdict on the server.
func TestRun_Cut(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	report, err := runAll(ctx, healthy(), conformance.Options{Only: []string{"RPC-*", "LC-*"}, OnResult: func(r conformance.Result) {
		if seen++; r.ID == "LC-01/answered" {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, conformance.VerdictInconclusive, report.Verdict())
	results := statuses(report)
	require.Equal(t, conformance.Inconclusive, results["RPC-01/order"].Status)
	require.Equal(t, "the run ended before this was judged", results["RPC-01/order"].Detail)
	for i := range report.Results {
		require.NotContains(t, []conformance.Status{conformance.Fail, conformance.Warn, conformance.Error}, report.Results[i].Status, report.Results[i].ID)
	}
}

// TestRun_KeptOut: a status that keeps everybody out is nothing to judge.
func TestRun_KeptOut(t *testing.T) {
	t.Parallel()
	for status, text := range map[int]string{
		http.StatusUnauthorized:        "credentials",
		http.StatusForbidden:           "credentials",
		http.StatusNotFound:            "no MCP server",
		http.StatusMethodNotAllowed:    "no MCP server",
		http.StatusInternalServerError: "no MCP server",
		http.StatusBadGateway:          "no MCP server",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(srv.Close)
		_, err := runAll(t.Context(), conformance.URL(srv.URL, nil), conformance.Options{})
		var unreachable *conformance.UnreachableError
		require.ErrorAs(t, err, &unreachable, "%d", status)
		require.Equal(t, status, unreachable.Status)
		require.ErrorContains(t, err, text)
	}
}

// TestRun_OtherRevision: a set says nothing of a server that speaks another revision.
func TestRun_OtherRevision(t *testing.T) {
	t.Parallel()
	report := &conformance.Report{Results: []conformance.Result{{Check: conformance.Check{ID: "RPC-01/order", Level: conformance.Must}, Revision: mcp.Version2025_06_18, Status: conformance.Pass}}}
	set, err := engine.Requirements(mcp.Version2025_11_25)
	require.NoError(t, err)
	engine.MarkUnscored(report, set, mcp.Version2025_11_25)
	require.Equal(t, conformance.VerdictInconclusive, report.Verdict())
	engine.MarkUnscored(report, set, mcp.Version2025_06_18)
	require.Equal(t, conformance.Passed, report.Verdict())
}

// TestRun_NoSecrets: what the caller gave for every request, and what stands in
// the URL, is in no frame and no detail.
func TestRun_NoSecrets(t *testing.T) {
	t.Parallel()
	h := newFakeHTTP(newFake(defect{}, "", "", io.Discard))
	requests := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "key-secret" || r.URL.Query().Get("token") != "url-secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if h.mu.Lock(); requests > 40 {
			h.mu.Unlock()
			panic(http.ErrAbortHandler) // the connection breaks: errors say the URL
		}
		requests++
		h.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	u.User, u.RawQuery = url.UserPassword("user", "pass-secret"), "token=url-secret"
	report, err := runAll(t.Context(), conformance.URL(u.String(), http.Header{"X-Api-Key": {"key-secret"}}), conformance.Options{Only: []string{"RPC-*", "LC-*", "HTTP-*"}})
	require.NoError(t, err)
	broken := false
	for i := range report.Results {
		r := &report.Results[i]
		broken = broken || strings.Contains(r.Detail+r.Actual, "EOF")
		all := r.Detail + r.Actual + r.Expected
		for _, f := range r.Evidence {
			all += string(f.Data) + f.Note
			if f.HTTP != nil {
				for name, values := range f.HTTP.Header {
					all += name + strings.Join(values, " ")
				}
			}
		}
		require.NotContains(t, all, "-secret", r.ID)
	}
	require.True(t, broken, "no connection was broken")
}

// TestRun_CutSoon: who ends a run does not wait for a program that never ends.
func TestRun_CutSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFake(defect{}, "", "", io.Discard)
		subject := conformance.FuncSubject{Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
			_ = f.serve(ctx, in, out) // and then it stays
			<-ctx.Done()
			return ctx.Err()
		}, Grace: wire.EndGrace}
		var at time.Time
		_, err := runAll(ctx, subject, conformance.Options{Only: []string{"RPC-07/exclusive", "LC-01"}, Revisions: []mcp.Version{mcp.LatestSession}, OnResult: func(conformance.Result) {
			if at.IsZero() {
				at = time.Now()
				cancel()
			}
		}})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, time.Since(at), 2*time.Second)
	})
}

// TestRun_SlowStart: a program that takes long to start is not blamed for it, however
// often it has to.
func TestRun_SlowStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(defect{}, "", "", io.Discard)
		subject := slowly{conformance.FuncSubject{Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return f.serve(ctx, in, &slowFirst{out: out, wake: func() { time.Sleep(3 * time.Second) }})
		}, Grace: wire.EndGrace}}
		report, err := runAll(t.Context(), subject, conformance.Options{
			Only: []string{"LC-01"}, Revisions: []mcp.Version{mcp.LatestSession}, Answer: 2 * time.Second, SideEffects: conformance.SideEffectsNone,
		})
		require.NoError(t, err)
		for i := range report.Results {
			r := &report.Results[i]
			require.Contains(t, []conformance.Status{conformance.Pass, conformance.Skip}, r.Status, "%s: %s%s", r.ID, r.Actual, r.Detail)
		}
		require.Equal(t, conformance.Passed, report.Verdict())
	})
}

// slowFirst takes its time for the first line.
type slowFirst struct {
	out   io.Writer
	wake  func()
	awake atomic.Bool // a mutex would stop virtual time
}

func (w *slowFirst) Write(p []byte) (int, error) {
	if !w.awake.Swap(true) {
		w.wake()
	}
	return w.out.Write(p)
}

// slowly is a function that counts as a program.
type slowly struct{ conformance.FuncSubject }

func (slowly) IsProcess() bool { return true }

func (s slowly) Open(ctx context.Context, tr *wire.Trace, _ []string) (wire.Conn, error) {
	return wire.NewPipeConn(ctx, s.Serve, s.Grace, nil, tr), nil
}
