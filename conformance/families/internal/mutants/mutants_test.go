package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMutants(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	all := Mutants()
	require.GreaterOrEqual(t, len(all), 70)
	for _, m := range all {
		require.Regexp(t, `^[a-z0-9.-]+$`, m.ID)
		require.False(t, seen[m.ID], "two mutants %s", m.ID)
		seen[m.ID] = true
		require.NotEmpty(t, m.Says, m.ID)
		require.Regexp(t, `^[A-Z0-9]+-[A-Z0-9-]+$`, m.Breaks, m.ID)
		require.NotNil(t, m.plant, m.ID)
		require.Contains(t, []Transport{HTTP, Stdio}, m.Transport, m.ID)
	}
}
