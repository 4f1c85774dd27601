package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// A middleware that makes a call somebody else's: its request carries the credentials of
// the context that the middleware passes on.
func TestMiddlewareChangesTheCaller(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true}
		c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
			client.WithProtocolVersion(version), client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						ctx = context.WithValue(ctx, userKey{}, "bob")
					}
					return next(ctx, inv)
				}
			}))
		require.NoError(t, err)
		_, err = c.CallTool(asUser(t, "ann"), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, []string{"bob"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}

// A middleware that knows the user by something that HeaderFunc and Authorizer do not see:
// the list that one user's call fetched is not another's.
func TestMiddlewareKeepsUsersApart(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			type sessionKey struct{}
			p, by := newKeyedPeer(t, version), &counted{token: "nobody", byUser: true}
			p.list(`{"name":"only_ann","inputSchema":{"type":"object"}}`)
			var drifts int
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by},
				client.WithProtocolVersion(version), client.WithCache(client.CacheConfig{NoPreload: true}),
				client.OnEvent(func(_ context.Context, e client.Event) {
					if _, ok := e.(client.ToolDrift); ok {
						drifts++
					}
				}),
				client.WithMiddleware(func(next client.Next) client.Next {
					return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
						if user := ctx.Value(sessionKey{}); user != nil {
							ctx = context.WithValue(ctx, userKey{}, user)
						}
						return next(ctx, inv)
					}
				}))
			require.NoError(t, err)
			ann, bob := context.WithValue(t.Context(), sessionKey{}, "ann"), context.WithValue(t.Context(), sessionKey{}, "bob")
			_, err = c.GetToolSchema(ann, "only_ann")
			require.NoError(t, err)
			p.list(`{"name":"only_bob","inputSchema":{"type":"object"}}`)
			_, err = c.GetToolSchema(bob, "only_ann")
			require.ErrorContains(t, err, "only_ann", "bob sees what ann's call has fetched")
			_, err = c.GetToolSchema(bob, "only_bob")
			require.NoError(t, err)
			require.Equal(t, "ann", p.came("tools/list")[0])
			require.Subset(t, []string{"bob"}, p.came("tools/list")[1:])
			require.NoError(t, c.Close())
			require.Zero(t, drifts)
			p.mem.Close()
		})
	}
}

// Callers whose credentials are unknown do not get the error of another one, and a
// failure is reported once for each request.
func TestUnknownCaller(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			p := newKeyedPeer(t, version)
			var mu sync.Mutex
			failed := 0
			slow := make(chan struct{})
			c, err := client.Connect(t.Context(), &transport.HTTP{
				URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
				HeaderFunc: func(ctx context.Context) (http.Header, error) {
					switch user, _ := ctx.Value(userKey{}).(string); user {
					case "":
						return nil, nil
					case "panic":
						panic("no such user")
					default:
						return nil, errors.New("no vault for " + user)
					}
				},
			}, client.WithProtocolVersion(version), client.OnEvent(func(_ context.Context, e client.Event) {
				if _, ok := e.(client.CallbackFailed); ok {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}), client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if user, _ := ctx.Value(userKey{}).(string); user == "ann" {
						<-slow
					}
					return next(ctx, inv)
				}
			}))
			require.NoError(t, err)
			var work sync.WaitGroup
			for _, user := range []string{"ann", "bob"} {
				ctx := asUser(t, user)
				work.Go(func() {
					_, err := c.AllTools(ctx)
					if err == nil || !strings.Contains(err.Error(), "no vault for "+user) {
						t.Errorf("%s: %v", user, err)
					}
					_, err = c.ListTools(ctx, nil)
					if err == nil || !strings.Contains(err.Error(), "no vault for "+user) {
						t.Errorf("%s: %v", user, err)
					}
				})
				synctest.Wait()
			}
			close(slow)
			work.Wait()
			calls := len(p.came("tools/call"))
			_, err = c.CallTool(asUser(t, "panic"), "echo", hello, client.WithoutValidation())
			require.ErrorContains(t, err, "HTTP.HeaderFunc panicked")
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			synctest.Wait()
			require.Equal(t, 1, failed)
			require.Len(t, p.came("tools/call"), calls)
			require.NoError(t, c.Close())
			p.mem.Close()
		})
	}
}

// HeaderFunc holds nobody up, and may use the client itself.
func TestHeaderFuncUsesTheClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		p := newKeyedPeer(t, version)
		var c *client.Client
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
			HeaderFunc: func(ctx context.Context) (http.Header, error) {
				user, _ := ctx.Value(userKey{}).(string)
				if user != "ann" {
					return http.Header{"Authorization": {"service"}}, nil
				}
				res, err := c.CallTool(context.WithValue(ctx, userKey{}, ""), "echo", hello)
				if err != nil {
					return nil, err
				}
				return http.Header{"Authorization": {res.Text()}}, nil
			},
		}, client.WithProtocolVersion(version))
		require.NoError(t, err)
		c.InvalidateTools()
		_, err = c.CallTool(asUser(t, "ann"), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, []string{"service", "done"}, p.came("tools/call"))
		require.NoError(t, c.Close())
		p.mem.Close()
	}
}
