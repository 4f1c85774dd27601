package server_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// A server that others wrote has the same fingerprints each time it is asked, so
// that pins made on one connection hold on the next, and its results fit the
// schemas it declares.
func TestPinsOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var seen []client.ToolDrift
			pins := map[string]string{}
			first, err := client.Dial(t.Context(), web.URL+server.Path, client.WithProtocolVersion(version))
			require.NoError(t, err)
			for tool, err := range first.Tools(t.Context()) {
				require.NoError(t, err)
				pins[tool.Name] = tool.Fingerprint()
			}
			require.NoError(t, first.Close())
			require.NotEmpty(t, pins)

			c, err := client.Dial(t.Context(), web.URL+server.Path, client.WithProtocolVersion(version),
				client.WithCache(client.CacheConfig{Pins: pins, BlockDrift: true}),
				client.WithValidation(client.Validation{Results: client.ValidateStrict}), client.OnEvent(func(_ context.Context, e client.Event) {
					if d, ok := e.(client.ToolDrift); ok {
						seen = append(seen, d)
					}
				}))
			require.NoError(t, err)
			res, err := c.CallTool(t.Context(), "test_simple_text", nil)
			require.NoError(t, err)
			require.False(t, res.IsError)
			c.InvalidateTools()
			_, err = c.GetToolSchema(t.Context(), "test_simple_text")
			require.NoError(t, err)
			require.NoError(t, c.Close())
			require.Empty(t, seen)
		})
	}
}
