package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// Headers that must not cross are refused with the reason.
func TestHeadersThatDoNotCross(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "authorization", "COOKIE", "Set-Cookie", "Host", "Origin", "Mcp-Session-Id", "MCP-Protocol-Version", "mcp-param-x",
		"Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization", "Proxy-Connection",
		"Content-Type", "Content-Length", "Accept", "Accept-Encoding", "Last-Event-ID", "Idempotency-Key",
	} {
		_, err := proxy.WithForwardedHeaders("X-Fine", name)
		require.ErrorContains(t, err, "cannot cross: ", name)
	}
	for _, name := range []string{"", "X Y", "X:Y", "X,Y", "X-Ä", "X\r\nY"} {
		_, err := proxy.WithForwardedHeaders(name)
		require.ErrorContains(t, err, "name", name)
	}
	_, err := proxy.WithForwardedHeaders("X-Tenant", "traceparent")
	require.NoError(t, err)
}

// forwarding is a proxy that passes X-Tenant and X-Trace on to s.
func forwarding(t *testing.T, s *clienttest.Server, version mcp.Version, opts ...proxy.Option) *web {
	t.Helper()
	opt, err := proxy.WithForwardedHeaders("x-tenant", "X-Trace")
	require.NoError(t, err)
	return newWeb(t, proxy.Target(func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		to := s.HTTP()
		to.HeaderFunc = proxy.ForwardedHeaders(ctx)
		return client.Connect(ctx, to, append(own, client.WithProtocolVersion(string(version)))...)
	}), append(opts, opt)...)
}

// tenant connects a host whose requests have X-Tenant.
func (w *web) tenant(name string, version mcp.Version) *client.Client {
	w.t.Helper()
	c, err := client.Connect(w.t.Context(), &transport.HTTP{
		URL: "http://localhost/mcp", RoundTripper: w.srv.Transport(),
		Header: http.Header{"X-Tenant": {name}, "Authorization": {"Bearer secret"}, "Cookie": {"a=b"}, "X-Other": {"x"}},
	}, client.WithProtocolVersion(string(version)))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, c.Close()) })
	return c
}

// requireTenants: each request has the header of the host that its params name. What belongs to no
// call has that of the only host of the server, if there is one.
func requireTenants(t *testing.T, s *clienttest.Server, alone bool) {
	t.Helper()
	subscribed := map[string]bool{}
	for _, r := range s.Requests() {
		got := r.Header.Get("X-Tenant")
		again := r.Method == mcp.MethodResourcesSubscribe && subscribed[string(r.Params)]
		subscribed[string(r.Params)] = true
		switch params := string(r.Params); {
		case again && !alone: // in a new session, for all that have subscribed
			require.Empty(t, got, r.Method)
		case strings.Contains(params, "Ada"):
			require.Equal(t, "Ada", got, r.Method)
		case strings.Contains(params, "Grace"):
			require.Equal(t, "Grace", got, r.Method)
		case r.Method == mcp.MethodToolsList: // of a host, or for a call
		case alone:
			require.NotEmpty(t, got, r.Method)
		default:
			require.Empty(t, got, "%s %s", r.Method, params)
		}
		for _, name := range []string{"Authorization", "Cookie", "X-Other"} {
			require.Empty(t, r.Header.Get(name), r.Method)
		}
	}
}

// Hosts that use a server at once, also the same one, have their own headers with their calls, from
// the first to the last request: over several rounds, lost sessions and subscriptions.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	for _, host := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		for _, server := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
			for _, share := range []bool{false, true} {
				t.Run(fmt.Sprint(host.Era(), " to ", server.Era(), " shared ", share), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := clienttest.NewServer(t)
						s.SetCapabilities(everything)
						for _, name := range []string{"Ada", "Grace"} {
							s.Resource("file:///"+name, "text/plain", name)
							s.Tool(name, "", answers(name))
						}
						var opts []proxy.Option
						if share {
							opts = append(opts, proxy.WithSharedServer())
						}
						w := forwarding(t, s, server, opts...)
						alone := host.Era() == mcp.EraSession && !share // each host has a server of its own
						var all sync.WaitGroup
						for _, name := range []string{"Ada", "Grace"} {
							c := w.tenant(name, host)
							_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///" + name}}, func(context.Context, client.Change) {})
							require.NoError(t, err)
							all.Go(func() {
								for range 20 {
									_, err := c.CallTool(t.Context(), name, nil)
									require.NoError(t, err)
									_, err = c.ReadResource(t.Context(), "file:///"+name)
									require.NoError(t, err)
								}
							})
						}
						all.Wait()
						s.ForgetSessions()
						s.Fail(1, &clienttest.HTTPError{Status: http.StatusServiceUnavailable})
						c := w.tenant("Ada", host)
						_, err := c.ReadResource(t.Context(), "file:///Ada")
						require.NoError(t, err)
						_, err = c.CallTool(t.Context(), "Ada", nil)
						require.NoError(t, err)
						synctest.Wait()
						requireTenants(t, s, alone)
					})
				})
			}
		}
	}
}

// A header that a host's Connection names stays on its connection, and one that differs with each
// call is that of the call.
func TestConnectionHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("a", "", answers("a"))
		w := forwarding(t, s, mcp.LatestSession, proxy.WithSharedServer())
		id := w.session()
		for n, connection := range []string{"close", "keep-alive, x-tenant"} {
			body(t, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`,
				"Mcp-Session-Id", id, "X-Tenant", "t", "X-Trace", fmt.Sprint(n), "Connection", connection))
		}
		var got []string
		for _, r := range s.Requests() {
			if r.Method == mcp.MethodToolsCall {
				got = append(got, r.Header.Get("X-Tenant")+r.Header.Get("X-Trace"))
			}
		}
		require.Equal(t, []string{"t0", "1"}, got)
	})
}
