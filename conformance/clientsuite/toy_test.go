package clientsuite

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// judgeToy runs the suite against the toy client in virtual time: the scenarios
// of these checks, the whole of it where there are none or where one of them
// judges all that was sent.
func judgeToy(t *testing.T, defect string, transport conformance.TransportKind, revision mcp.Version, checks ...string) (report *conformance.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		opts := Options{Transport: transport, Revisions: []mcp.Version{revision}, Parallel: 1000, Bridge: []string{"bridge"}}
		for _, sc := range registry() {
			decides := slices.ContainsFunc(sc.checks, func(c check) bool { return slices.Contains(checks, c.ID) })
			if decides && sc.seen != nil {
				opts.Only, opts.Skip = nil, []string{faultArea, authArea, "C-LARGE"} // most of the work of a run, and nothing to see in it
				if sc.area == authArea {
					opts.Only, opts.Skip = []string{authArea}, nil
				}
				break
			}
			if decides {
				opts.Only = append(opts.Only, sc.id)
			}
		}
		report, err = Run(t.Context(), &toy{defect: defect, net: newMemory()}, opts)
		require.NoError(t, err)
	})
	return report
}

// TestToyWithoutDefect: nothing is found where there is nothing, in any revision
// and over any transport.
func TestToyWithoutDefect(t *testing.T) {
	t.Parallel()
	for _, transport := range []conformance.TransportKind{conformance.TransportHTTP, conformance.TransportStdio} {
		for _, revision := range mcp.Versions() {
			if transport == conformance.TransportHTTP && revision == mcp.Version2024_11_05 {
				continue // it has no streamable HTTP
			}
			if testmain.Race && revision != mcp.LatestSession && (revision != mcp.Latest || transport != conformance.TransportHTTP) {
				continue // the same goroutines
			}
			t.Run(string(transport)+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				for _, r := range judgeToy(t, "", transport, revision).Results {
					require.Contains(t, []conformance.Status{conformance.Pass, conformance.Skip}, r.Status,
						"%s: %s%s, expected %s", r.ID, r.Actual, r.Detail, r.Expected)
				}
			})
		}
	}
}

// TestRun_Cut: what was found before a run is ended is not lost, and what was not
// is no verdict on the client.
func TestRun_Cut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		report, err := Run(ctx, &toy{net: newMemory()}, Options{
			Parallel: 1, Only: []string{"messages", "lifecycle"}, Revisions: []mcp.Version{mcp.LatestSession},
			OnResult: func(conformance.Result) { cancel() },
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, conformance.VerdictInconclusive, report.Verdict())
		for _, r := range report.Results {
			require.NotContains(t, []conformance.Status{conformance.Fail, conformance.Warn, conformance.Error}, r.Status, r.ID)
		}
		require.Positive(t, report.Summary().Must.Pass)
	})
}
