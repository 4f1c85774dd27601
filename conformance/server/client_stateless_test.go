package server_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The era against a server that others wrote, which checks headers and _meta,
// over both transports.
func TestStatelessOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)

	for _, over := range []string{"HTTP", "stdio"} {
		t.Run(over, func(t *testing.T) {
			ctx := t.Context()
			var c *client.Client
			var err error
			if over == "HTTP" {
				c, err = client.Dial(ctx, web.URL+server.Path, client.WithProtocolVersion("2026-07-28"))
			} else {
				tr, conn := transport.InMemory()
				served := make(chan error, 1)
				serving, cancel := context.WithCancel(ctx)
				go func() { served <- srv.ServeStdio(serving, conn, conn) }()
				t.Cleanup(func() {
					cancel()
					_ = conn.Close() // the client has closed its end
					require.NoError(t, <-served)
				})
				c, err = client.Connect(ctx, tr, client.WithProtocolVersion("2026-07-28"))
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			require.Equal(t, mcp.Version2026_07_28, c.ProtocolVersion())

			// The server compares headers and arguments. It takes an empty header for a
			// missing one, so that "" is not among them.
			for _, region := range []string{"us-west1", " padded ", "Hello, 世界", "=?base64?literal?=", "a\r\nb\t"} {
				_, err = c.CallTool(ctx, "test_x_mcp_header", map[string]any{"region": region})
				require.NoError(t, err, "%q", region)
			}
			_, err = c.Call(ctx, "tools/call", map[string]any{"name": "test_x_mcp_header", "arguments": map[string]any{"region": "raw"}})
			require.NoError(t, err)
			_, err = c.CallTool(ctx, "test_simple_text", nil, client.WithMeta("com.example/a", 1))
			require.NoError(t, err)
			for _, err := range c.Resources(ctx) {
				require.NoError(t, err)
			}
			_, err = c.ReadResource(ctx, "test://static-text")
			require.NoError(t, err)
			_, err = c.ReadResource(ctx, "test://nothing")
			require.Equal(t, mcperrors.CodeResourceNotFound, mcperrors.CodeOf(err), "decisions 29: %v", err)
			_, err = c.ListPrompts(ctx, nil)
			require.NoError(t, err)
			_, err = c.GetPrompt(ctx, "test_simple_prompt", nil)
			require.NoError(t, err)
			_, err = c.Call(ctx, "com.example/nothing", nil)
			require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
		})
	}
}
