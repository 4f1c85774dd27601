package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What is no absolute file URI, or leads out of itself, is refused
// before anything is sent.
func TestRootsAreChecked(t *testing.T) {
	t.Parallel()
	good := []string{"file:///", "file:///home/u/My%20Docs", "file://localhost/x", "file:///C:/work", "file:///a/..b/c..", "file:///a/%252e%252e"}
	bad := []string{
		"", "/home/u", "http://example.com/", "file:relative", "file://", "file:///a/../b", "file:///a/%2e%2E/b", "file:///..",
		`file:///a/..%5Cb`, "file:///a%2F..%2Fb", "file:///a?q", "file:///a#f", "file://u@h/a", "file:///a%00b", "FILE", "file:///%zz",
	}
	c, _ := connected(t, client.WithProtocolVersion("2025-11-25"), client.WithRoots())
	for _, uri := range good {
		require.NoError(t, c.SetRoots(t.Context(), mcp.Root{URI: uri}), uri)
	}
	for _, uri := range bad {
		err := c.SetRoots(t.Context(), mcp.Root{URI: "file:///fine"}, mcp.Root{URI: uri})
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), uri)
		tr, s := newFake(t)
		_, err = client.Connect(t.Context(), tr, client.WithRoots(mcp.Root{URI: uri}))
		require.ErrorContains(t, err, "root", uri)
		require.Empty(t, s.received())
	}
}

// A change of roots is sent if the revision has a message for it. In every era the
// server sees it the next time it asks.
func TestSetRoots(t *testing.T) {
	t.Parallel()
	const changed, want = "notifications/roots/list_changed", `{"roots":[{"uri":"file:///b"}]}`
	b := mcp.Root{URI: "file:///b"}
	roots := client.WithRoots(mcp.Root{URI: "file:///a"})
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
		require.NoError(t, c.SetRoots(t.Context(), b))
		s.request(1, "roots/list", `{}`)
		require.JSONEq(t, want, s.told(1))
		require.Equal(t, 1, s.count(changed))
		require.NoError(t, c.SetRoots(t.Context()))
		s.request(2, "roots/list", `{}`)
		require.JSONEq(t, `{"roots":[]}`, s.told(2))
	}, roots)
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		require.NoError(t, c.SetRoots(t.Context(), b))
		rounds := s.askFirst(map[string]string{"roots/list": `{}`})
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.JSONEq(t, want, string((*rounds)[1].InputResponses["roots/list"]))
		require.Zero(t, s.count(changed))
	}, roots)
	// Declared by hand without the promise to tell.
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
		require.NoError(t, c.SetRoots(t.Context(), b))
		require.Zero(t, s.count(changed))
	}, roots, client.WithCapabilities(mcp.ClientCapabilities{Roots: &mcp.ListChangedCapability{}}))
	c, _ := connected(t, client.WithProtocolVersion("2025-11-25"))
	err := c.SetRoots(t.Context(), b)
	require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "WithRoots")
}
