package clientsuite_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/faults"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
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
		opts := clientsuite.Options{Transport: transport, Revisions: []mcp.Version{revision}, Parallel: 1000, Bridge: []string{"bridge"}}
		for _, sc := range client.Scenarios() {
			decides := slices.ContainsFunc(sc.Checks, func(c trial.Check) bool { return slices.Contains(checks, c.ID) })
			if decides && sc.Judge != nil {
				opts.Only, opts.Skip = nil, []string{faults.Area, authorization.Area, "C-LARGE"} // most of the work of a run, and nothing to see in it
				if sc.Area == authorization.Area {
					opts.Only, opts.Skip = []string{authorization.Area}, nil
				}
				break
			}
			if decides {
				opts.Only = append(opts.Only, sc.ID)
			}
		}
		report, err = clientsuite.Run(t.Context(), &toy{defect: defect, net: newMemory()}, opts)
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
		report, err := clientsuite.Run(ctx, &toy{net: newMemory()}, clientsuite.Options{
			Parallel: 1, Only: []string{"messages", "lifecycle"}, Revisions: []mcp.Version{mcp.LatestSession},
			OnResult: func(conformance.Result) { cancel() },
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, conformance.VerdictInconclusive, report.Verdict())
		for _, r := range report.Results {
			require.NotContains(t, []conformance.Status{conformance.Fail, conformance.Warn, conformance.Error}, r.Status, r.ID)
		}
		require.Positive(t, report.Summary().Must[conformance.Pass])
	})
}
