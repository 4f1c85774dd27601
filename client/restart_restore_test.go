package client_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// If a restarted program speaks another era, the client finds that out, and drops its
// caches.
func TestEraChangesAtARestart(t *testing.T) {
	t.Parallel()
	session := func(s *fakeServer) error {
		s.on("server/discover", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		return nil
	}
	stateless := func(s *fakeServer) error {
		s.result("server/discover", discoverStateless)
		s.on("initialize", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		s.result("tools/call", `{"resultType":"complete","content":[]}`)
		return nil
	}
	tests := map[string]struct {
		eras []func(*fakeServer) error
		want []string
	}{
		"session to stateless": {[]func(*fakeServer) error{session, stateless}, []string{"2025-11-25", "2026-07-28"}},
		"stateless to session": {[]func(*fakeServer) error{stateless, session}, []string{"2026-07-28", "2025-11-25"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			supervised(t, func(n int, s *fakeServer) error {
				return tt.eras[min(n, len(tt.eras))-1](s)
			}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
				require.Equal(t, tt.want[0], string(c.ProtocolVersion()))
				require.NoError(t, callOnce(t.Context(), c))
				p.last().crash()
				require.NoError(t, callOnce(t.Context(), c))
				synctest.Wait()
				require.Equal(t, tt.want[1], string(c.ProtocolVersion()))
				require.Equal(t, tt.want[1], string(c.Negotiated().Version))
				_, err := c.GetToolSchema(t.Context(), "echo")
				require.NoError(t, err)
				require.Equal(t, 1, p.last().count("tools/list"), "listed again")
				require.Equal(t, []string{"ready to restarting", "era " + tt.want[1], "restarting to ready", "restarted"}, h.take())
				require.NoError(t, callOnce(t.Context(), c))
			}, client.WithProtocolVersion(client.AutoVersion))
		})
	}
}

const discoverStateless = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`

// The new program gets the log level and the subscriptions of the old one; subscribers
// learn that changes may have been missed.
func TestRestartRestores(t *testing.T) {
	supervised(t, func(_ int, s *fakeServer) error {
		s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}`)
		s.result("logging/setLevel", `{}`)
		s.result("resources/subscribe", `{}`)
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		require.NoError(t, c.SetLogLevel(t.Context(), "warning"))
		p.last().crash()
		pass(time.Second)
		for _, method := range []string{"logging/setLevel", "resources/subscribe"} {
			require.Equal(t, 1, p.last().count(method), method)
		}
		require.Equal(t, []string{"gap"}, changes.all())
		require.Contains(t, h.take(), "gap")
		p.last().notify("notifications/tools/list_changed", `{}`)
		synctest.Wait()
		require.Len(t, changes.all(), 2)
	})
}

// A stream that is listened to is opened again at once.
func TestRestartListensAgain(t *testing.T) {
	listens := func(s *fakeServer) error {
		s.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		s.on("subscriptions/listen", func(req jsonrpc.Request) any {
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
				string(req.ID.AppendJSON(nil)) + `},"notifications":{"toolsListChanged":true}}}`)
		})
		return nil
	}
	supervised(t, func(n int, s *fakeServer) error {
		if slices.Contains([]int{2, 3, 4}, n) {
			s.on("server/discover", func(jsonrpc.Request) any { s.crash(); return nil })
			return nil
		}
		return listens(s)
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, changes.change)
		require.NoError(t, err)
		pass(2 * time.Minute) // it was healthy
		p.last().crash()
		pass(10 * time.Second)
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, 5, p.count())
		require.Equal(t, 1, p.last().count("subscriptions/listen"))
		require.Equal(t, []string{"gap"}, changes.all())
	}, client.WithProtocolVersion("2026-07-28"))
}

// A subscription goes on in the era of the program that was started again
// (fault F1).
func TestSubscriptionsChangeTheirEra(t *testing.T) {
	const caps = `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	session := func(s *fakeServer) error {
		s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"serverInfo":{"name":"fake","version":"1"}}`)
		s.result("resources/subscribe", `{}`)
		s.on("server/discover", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		return nil
	}
	stateless := func(s *fakeServer) error {
		s.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":`+caps+`,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		s.on("initialize", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		s.on("subscriptions/listen", func(req jsonrpc.Request) any {
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
				string(req.ID.AppendJSON(nil)) + `},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:/a"]}}}`)
		})
		return nil
	}
	supervised(t, func(n int, s *fakeServer) error {
		if n%2 == 1 {
			return session(s)
		}
		return stateless(s)
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		var changes record
		s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		methods := []string{"resources/subscribe", "subscriptions/listen"}
		for n := range 6 {
			require.Equal(t, 1+n%2, p.last().count(methods[n%2]), "program %d: one more stream for the handler", n+1)
			require.Zero(t, p.last().count(methods[1-n%2]), "program %d", n+1)
			require.Equal(t, []string{"x:/a"}, s.Accepted().ResourceSubscriptions)
			pass(2 * time.Minute)
			before := len(changes.all())
			p.last().crash()
			pass(10 * time.Second)
			require.Equal(t, client.StateReady, c.State())
			require.Greater(t, len(changes.all()), before, "told of a gap")
			require.NoError(t, s.Err())
		}
		require.NoError(t, s.Close())
	}, client.WithProtocolVersion(client.AutoVersion), client.OnListChanged(func(context.Context, string) {}))
}
