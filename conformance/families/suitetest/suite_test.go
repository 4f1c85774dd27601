package suitetest

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/report"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// requirePassed holds a report against what the reference server promises:
// everything passes, and only the named reasons skip.
func requirePassed(t *testing.T, r *conformance.Report, least int, reasons ...conformance.SkipReason) {
	t.Helper()
	var text strings.Builder
	require.NoError(t, report.Text(&text, r, report.TextOptions{}))
	require.Equal(t, conformance.Passed, r.Verdict(), text.String())
	require.Zero(t, r.ExitCode())
	if !testmain.Race { // nothing in it is at once
		requireForm(t, r)
	}
	passed := 0
	for _, res := range r.Results {
		switch res.Status {
		case conformance.Pass:
			passed++
		case conformance.Skip:
			require.Contains(t, reasons, res.Reason, "%s: %s", res.ID, res.Detail)
		case conformance.Inconclusive: // tests at once make any machine busy
			require.Equal(t, "X-PERF-01", res.Scenario, "%s is unknown: %s", res.ID, res.Detail)
		default:
			require.Failf(t, "not passed", "%s is %s: %s", res.ID, res.Status, res.Actual)
		}
	}
	require.GreaterOrEqual(t, passed, least)
}

// inOrder requires that scenarios decide their checks in the order of checks.txt, where they
// decide them at all: a lost server fails the next check.
func inOrder(t *testing.T) func(conformance.Result) {
	t.Helper()
	place := map[string]int{}
	for _, sc := range checks.All() {
		for _, c := range sc.Checks {
			place[c.ID] = len(place) + 1
		}
	}
	scenario, last := "", ""
	return func(r conformance.Result) {
		if r.Status == conformance.Skip || place[r.ID] == 0 || r.Scenario == "UTIL-08" { // which decides some with each call
			return
		}
		if r.Scenario == scenario && place[r.ID] < place[last] {
			t.Errorf("%s is decided after %s, and is above it in checks.txt", r.ID, last)
		}
		scenario, last = r.Scenario, r.ID
	}
}

// manyCalls are the limits of S1, but for that on all agents together: two revisions
// in one process make more than 500 calls in a minute.
func manyCalls() coe.Options {
	rates := limit.Defaults()
	rates.Global = limit.Limit{}
	return coe.Options{Rates: &rates}
}

func TestReferenceServer_InProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "base", "artifacts")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	srv, err := families.New(families.Options{ArtifactsDir: dir, AllowFaultInjection: true, COE: manyCalls()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	opts := conformance.Options{SideEffects: conformance.SideEffectsAll, Fixtures: map[string]any{surroundings.Key: surroundings.Fixtures{Artifacts: dir}}, OnResult: inOrder(t)}
	least := 130
	if testmain.Race {
		// What is at once on either side; what a tool answers is nothing to the
		// race detector, and 200 checked documents cost it half a minute.
		opts.Only, least = []string{"lifecycle", "concurrency", "utilities", "S0-STORE-14", "S1-NEXT-05"}, 40
		opts.Skip = []string{"X-WIRE-12-CALLS"}
	}
	report, err := familychecks.Run(t.Context(), conformance.InProcess(srv.ServeStdio), opts)
	require.NoError(t, err)
	requirePassed(t, report, least, conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared, conformance.SkipNoFixture, conformance.SkipNotInRevision)
}

func TestReferenceServer_HTTP(t *testing.T) {
	t.Parallel()
	srv, err := families.New(families.Options{Options: server.Options{Families: families.HTTPNames()}, COE: manyCalls()})
	require.NoError(t, err)
	server := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, srv.Close())
	})
	opts := conformance.Options{OnResult: inOrder(t)}
	least := 125
	if testmain.Race {
		opts.Only, least = []string{"lifecycle", "X-HTTP-01", "HTTP-12", "HTTP-19"}, 15
	}
	judge := checks.Run
	switch {
	case os.Getenv("MAINSTAY_SOAK") != "": // the reference run of CI has them all, too
		judge = familychecks.Run
	case !testmain.Race: // what depends on the transport
		opts.Only, least = []string{"lifecycle", "http", "utilities", "subscriptions"}, 100
	}
	report, err := judge(t.Context(), conformance.URL(server.URL+"/mcp", nil), opts)
	require.NoError(t, err)
	require.True(t, report.Policy.Granted)
	requirePassed(t, report, least, conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared, conformance.SkipNoFixture, conformance.SkipNotInRevision)
}

// TestFoldersOfTheCaller: S0-STORE-04 needs a folder that is missing. One of the
// caller's is not removed for that.
func TestFoldersOfTheCaller(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "base", "artifacts")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	srv, err := families.New(families.Options{ArtifactsDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	opts := conformance.Options{
		SideEffects: conformance.SideEffectsAll, Fixtures: map[string]any{surroundings.Key: surroundings.Fixtures{Artifacts: dir}},
		Only: []string{"S0-STORE-04"}, Revisions: []mcp.Version{mcp.LatestSession},
	}
	judge := func() conformance.Result {
		report, err := familychecks.Run(t.Context(), conformance.InProcess(srv.ServeStdio), opts)
		require.NoError(t, err)
		return report.Results[slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.ID == "S0-STORE-04" })]
	}
	require.Equal(t, conformance.Pass, judge().Status, "the folder is missing")
	kept := filepath.Join(dir, "spike", "kept.md")
	require.NoError(t, os.WriteFile(kept, []byte("of the caller"), 0o600))
	got := judge()
	require.Equal(t, conformance.Skip, got.Status)
	require.Equal(t, conformance.SkipControl, got.Reason)
	require.FileExists(t, kept)
}

// TestReferenceServer_SSE: the revision of 2024 over its own transport, found at
// the URL of its stream.
func TestReferenceServer_SSE(t *testing.T) {
	t.Parallel()
	srv, err := families.New(families.Options{Options: server.Options{Families: families.HTTPNames(), SSE: true}, COE: manyCalls()})
	require.NoError(t, err)
	server := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, srv.Close())
	})
	opts, least := conformance.Options{SideEffects: conformance.SideEffectsReadOnly}, 300
	switch {
	case testmain.Race: // as over HTTP
		opts.Only, least = []string{"sse"}, 10
	case os.Getenv("MAINSTAY_SOAK") == "":
		opts.Only, least = []string{"sse", "lifecycle", "utilities"}, 30
	}
	report, err := familychecks.Run(t.Context(), conformance.URL(server.URL+"/sse", nil), opts)
	require.NoError(t, err)
	require.Equal(t, conformance.TransportSSE, report.Target.Transport)
	require.Equal(t, string(mcp.Version2024_11_05), report.Target.Revision)
	requirePassed(t, report, least, conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared,
		conformance.SkipNoFixture, conformance.SkipNotInRevision, conformance.SkipSideEffects)

	at := conformance.URL(server.URL+"/sse", nil)
	at.Transport = conformance.TransportSSE
	_, err = familychecks.Run(t.Context(), at, conformance.Options{Revisions: []mcp.Version{mcp.Latest}})
	require.ErrorContains(t, err, "cannot be used over HTTP+SSE")
	at.Transport = conformance.TransportHTTP
	report, err = familychecks.Run(t.Context(), at, conformance.Options{Only: []string{"LC-01"}})
	require.NoError(t, err)
	require.Equal(t, conformance.Failed, report.Verdict(), "it is not of that transport")
	at.URL, at.Transport = server.URL+"/mcp", conformance.TransportSSE
	_, err = familychecks.Run(t.Context(), at, conformance.Options{})
	require.ErrorContains(t, err, "not answered with an event stream")
	at.Transport = conformance.TransportStdio
	_, err = familychecks.Run(t.Context(), at, conformance.Options{})
	require.ErrorContains(t, err, "http or sse")
}

// TestReferenceServer_Revisions: each revision of the session era.
func TestReferenceServer_Revisions(t *testing.T) {
	t.Parallel()
	for _, revision := range mcp.Versions() {
		if revision.Era() != mcp.EraSession {
			continue
		}
		if testmain.Race && revision != mcp.Version2025_03_26 {
			continue // that of the batches
		}
		t.Run(string(revision), func(t *testing.T) {
			t.Parallel()
			srv, err := families.New(families.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, srv.Close()) })
			opts, least := conformance.Options{Revisions: []mcp.Version{revision}, Only: []string{"lifecycle", "base", "errors", "tools"}}, 70
			if testmain.Race { // what a tool answers does not depend on the revision
				opts.Only, least = []string{"lifecycle", "RPC-15"}, 10
			}
			report, err := familychecks.Run(t.Context(), conformance.InProcess(srv.ServeStdio), opts)
			require.NoError(t, err)
			require.Equal(t, string(revision), report.Target.Revision)
			requirePassed(t, report, least, conformance.SkipExcluded, conformance.SkipControl, conformance.SkipNotDeclared,
				conformance.SkipNoFixture, conformance.SkipNotInRevision)
		})
	}
}

func TestRun_Cancelled(t *testing.T) {
	t.Parallel()
	srv, err := families.New(families.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	_, err = familychecks.Run(ctx, conformance.InProcess(srv.ServeStdio), conformance.Options{
		OnResult: func(conformance.Result) { cancel() },
	})
	require.ErrorIs(t, err, context.Canceled)
}
