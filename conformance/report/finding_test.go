package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestAgain: the line shows what was found again, also what no scenario of its own
// shows.
func TestAgain(t *testing.T) {
	t.Parallel()
	r := &conformance.Report{
		Again:     []string{"mcpctl", "conform", "server", "--strict"},
		Target:    conformance.Target{Argv: []string{"my server", "-v"}},
		Revisions: []conformance.RevisionReport{{Revision: mcp.Latest}, {Revision: mcp.LatestSession}},
	}
	res := &conformance.Result{Check: conformance.Check{ID: "LC-01/order"}, Scenario: "LC-01", Revision: mcp.LatestSession}
	require.Equal(t, "mcpctl conform server --strict --spec 2025-11-25 --only LC-01/order -- 'my server' -v", again(r, res))
	res.Scenario = "SEEN-BASE"
	require.Equal(t, "mcpctl conform server --strict --spec 2025-11-25 -- 'my server' -v", again(r, res))
}
