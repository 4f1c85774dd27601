package transport_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// NEG-08, CACHE-04: what is known of one server is not taken for another's.
func TestIdentity(t *testing.T) {
	t.Parallel()
	different := []transport.Identified{
		&transport.HTTP{URL: "https://a/mcp"},
		&transport.HTTP{URL: "https://a/mcp?tenant=1"},
		&transport.SSE{URL: "https://a/mcp"},
		&transport.SSE{URL: "https://a/mcp?tenant=1"},
		&transport.Command{Argv: []string{"a"}},
		&transport.Command{Argv: []string{"a"}, Dir: "d"},
		&transport.Command{Argv: []string{"a"}, Inherit: transport.EnvAll},
		&transport.Command{Argv: []string{"a", "B=c"}},
		&transport.Command{Argv: []string{"a"}, Env: []string{"B=c"}},
		&transport.Command{Argv: []string{"a B=c"}},
	}
	seen := map[string]int{}
	for i, of := range different {
		id := of.Identity()
		require.NotContains(t, seen, id, "%d", i)
		seen[id] = i
		require.NotContains(t, id, "tenant", "it may be secret")
	}
	again := &transport.SSE{URL: "https://a/mcp"}
	require.Contains(t, seen, again.Identity())
}
