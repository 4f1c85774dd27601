package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// After a challenge, the call goes on with the new credentials, and so do later calls.
func TestRenewedCredentials(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p, by := newKeyedPeer(t, version), &counted{token: "first"}
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
			client.WithProtocolVersion(version))
		require.NoError(t, err)
		p.script("tools/call", statusStep(http.StatusUnauthorized))
		for range 2 {
			_, err = c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
		}
		require.Equal(t, []string{"first", "renewed", "renewed"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}

// Tokens expire: a call that waited before its first request asks again.
func TestCredentialsAfterAWait(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			p, by := newKeyedPeer(t, version), &counted{token: "first"}
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
				client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						time.Sleep(11 * time.Second)
						return next(ctx, inv)
					}
				}))
			require.NoError(t, err)
			by.take()
			_, err = c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			_, authorize, _ := by.take()
			require.Equal(t, 2, authorize)
			require.NoError(t, c.Close())
			p.mem.Close()
		})
	}
}

// The list that a call fetches first may renew the credentials of the call. A middleware
// that lists as somebody else does not.
func TestCredentialsAfterTheList(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		service    bool // lists are the service's
		headers    int
		challenged int
		list, call []string // tokens
	}{
		"a challenge":            {false, 2, 1, []string{"first", "renewed"}, []string{"renewed"}},
		"a list of someone else": {true, 3, 1, []string{"service", "renewed"}, []string{"first"}},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true}
				c, err := client.Connect(t.Context(), &transport.HTTP{
					URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
				}, client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						if tt.service && inv.Method == "tools/list" {
							ctx = context.WithValue(ctx, userKey{}, "service")
						}
						return next(ctx, inv)
					}
				}))
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, c.Close())
					p.mem.Close()
				})
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				p.script("tools/list", statusStep(http.StatusUnauthorized))
				by.take()
				lists := len(p.came("tools/list"))
				_, err = c.CallTool(t.Context(), "new", nil)
				require.NoError(t, err)
				headers, _, challenged := by.take()
				require.Equal(t, tt.headers, headers)
				require.Equal(t, tt.challenged, challenged)
				require.Equal(t, tt.list, p.came("tools/list")[lists:])
				require.Equal(t, tt.call, p.came("tools/call"))
			})
		}
	}
}
