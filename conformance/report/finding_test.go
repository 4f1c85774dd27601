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

func TestSpecURL(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		"basic/lifecycle#initialization": "https://modelcontextprotocol.io/specification/" + string(mcp.Version2025_11_25) + "/basic/lifecycle#initialization",
		"jsonrpc#error_object":           "https://www.jsonrpc.org/specification#error_object",
		"extensions/tasks#task-polling":  "https://modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html#task-polling",
		"":                               "",
	} {
		res := &conformance.Result{Check: conformance.Check{Spec: conformance.Spec{Section: section}}, Revision: mcp.Version2025_11_25}
		require.Equal(t, want, specURL(res), section)
	}
	require.Empty(t, specURL(&conformance.Result{Check: conformance.Check{Spec: conformance.Spec{Section: "basic"}}}))
}
