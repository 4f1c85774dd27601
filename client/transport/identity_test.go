package transport_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Different servers have different identities.
func TestIdentity(t *testing.T) {
	t.Parallel()
	different := []identified{
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

// Callers with different headers have different scopes, regardless of order and case; with a
// RoundTripper the scope is unknown.
func TestScope(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, header := range []http.Header{
		nil,
		{"Authorization": {"a"}},
		{"Authorization": {"b"}},
		{"X-Key": {"a"}},
		{"X-Key": {"a", "b"}},
		{"X-Key": {"a", "X-Key", "b"}},
		{"X-Key": {"ab"}},
		{"X-Key": {"a"}, "X-Tenant": {"b"}},
	} {
		caller, known := (&transport.HTTP{Header: header}).Scope()
		require.True(t, known)
		require.NotContains(t, seen, caller, "%d", i)
		seen[caller] = i
		same, known := (&transport.SSE{Header: header}).Scope()
		require.True(t, known)
		require.Equal(t, caller, same)
	}
	require.Contains(t, seen, "", "nobody in particular")
	caller, _ := (&transport.HTTP{Header: http.Header{"x-tenant": {"b"}, "x-key": {"a"}}}).Scope()
	require.Equal(t, 7, seen[caller])
	_, known := (&transport.HTTP{RoundTripper: http.DefaultTransport}).Scope()
	require.False(t, known)
	_, known = (&transport.SSE{RoundTripper: http.DefaultTransport}).Scope()
	require.False(t, known)
}
