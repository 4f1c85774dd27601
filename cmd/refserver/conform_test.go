//go:build !race

// Under the race detector the programs in the tests of every check stand for this.

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/report"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestReferenceServer_Command judges the program, which the suite starts. The server is
// judged in process with the checks of its families and at every revision; the reference
// run of CI judges the program with all checks, and so does this test in its long form.
func TestReferenceServer_Command(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	judge := checks.Run
	if os.Getenv("MAINSTAY_SOAK") != "" {
		judge = familychecks.Run
	}
	r, err := judge(t.Context(), conformance.Command([]string{self}, append(os.Environ(), asProgram+"=1")), conformance.Options{Revisions: []mcp.Version{mcp.Latest}})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, report.Text(&text, r, report.TextOptions{}))
	require.Equal(t, conformance.Passed, r.Verdict(), text.String())
	require.Zero(t, r.ExitCode())
	passed := 0
	for _, res := range r.Results {
		switch res.Status {
		case conformance.Pass:
			passed++
		case conformance.Skip:
			require.Contains(t, []conformance.SkipReason{
				conformance.SkipExcluded, conformance.SkipTransport, conformance.SkipControl, conformance.SkipNotDeclared,
				conformance.SkipNoFixture, conformance.SkipNotInRevision,
			}, res.Reason, "%s: %s", res.ID, res.Detail)
		case conformance.Inconclusive: // tests at once make any machine busy
			require.Equal(t, "X-PERF-01", res.Scenario, "%s is unknown: %s", res.ID, res.Detail)
		default:
			require.Failf(t, "not passed", "%s is %s: %s", res.ID, res.Status, res.Actual)
		}
	}
	require.GreaterOrEqual(t, passed, 150)
}
