package suitetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestOfficial: the official suite's scenarios are all there, each of its checks
// has one of ours beside it or a reason, and each of ours exists.
func TestOfficial(t *testing.T) {
	t.Parallel()
	known := map[string]engine.Scenario{}
	for _, sc := range registry() {
		for _, c := range sc.Checks {
			known[c.ID] = sc
		}
	}
	counts := map[mcp.Version]int{}
	seen := map[string]bool{}
	for _, s := range engine.OfficialScenarios() {
		require.False(t, seen[s.Name], "%s is there twice", s.Name)
		seen[s.Name] = true
		require.True(t, s.Since.Known(), s.Name)
		require.True(t, s.Until == "" || s.Until.Known(), s.Name)
		require.NotEmpty(t, s.Checks, s.Name)
		covered := false
		for i, c := range s.Checks {
			require.False(t, slices.ContainsFunc(s.Checks[:i], func(o engine.OfficialCheck) bool { return o.ID == c.ID }), "%s:%s is there twice", s.Name, c.ID)
			require.NotEqual(t, len(c.Ours) == 0, c.Why == "", "%s:%s has checks of ours or a reason", s.Name, c.ID)
			covered = covered || len(c.Ours) > 0
			for _, id := range c.Ours {
				require.Contains(t, known, id, "%s:%s", s.Name, c.ID)
			}
		}
		require.True(t, covered, "no check of ours stands beside %s", s.Name)
		for _, v := range []mcp.Version{mcp.Version2025_06_18, mcp.Version2025_11_25, mcp.Version2026_07_28} {
			if s.Name != engine.AnyScenario && v.AtLeast(s.Since) && (s.Until == "" || s.Until.AtLeast(v)) {
				counts[v]++
			}
		}
	}
	// What scripts/official.sh counts.
	require.Equal(t, map[mcp.Version]int{mcp.Version2025_06_18: 27, mcp.Version2025_11_25: 33, mcp.Version2026_07_28: 40}, counts)
}
