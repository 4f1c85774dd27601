package client_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// What is known of a session that is lost is not used in the next: nor while what
// the old one had is being restored, which may take its time.
func TestNewSessionForgetsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		s.reply = func(_ http.ResponseWriter, r *http.Request, req jsonrpc.Request) bool {
			late := req.Method == "logging/setLevel" && r.Header.Get("Mcp-Session-Id") == "s2"
			if late {
				<-r.Context().Done()
			}
			return late
		}
		c := s.dial(t)
		require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelWarning))
		getSchema(t, c, "echo")
		listed := s.count("tools/list")
		getSchema(t, c, "echo")
		require.Equal(t, listed, s.count("tools/list"), "it is kept")
		s.restart()
		began := time.Now()
		require.NoError(t, c.Ping(t.Context()))
		getSchema(t, c, "echo")
		require.Equal(t, listed+1, s.count("tools/list"))
		require.Zero(t, time.Since(began), "the level is not restored yet")
		require.NoError(t, c.Close())
	})
}

// A stream that was interrupted may have missed a change: nothing that was known
// before is used after it.
func TestInterruptedStreamForgets(t *testing.T) {
	t.Parallel()
	t.Run("of a session", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := newSessionSite(t)
			c := s.dial(t, client.OnListChanged(func(context.Context, string) {}))
			getSchema(t, c, "echo")
			synctest.Wait()
			listed := s.count("tools/list")
			s.endStream()
			pass(10 * time.Second)
			require.Equal(t, 2, s.count("GET@s1"))
			getSchema(t, c, "echo")
			require.Equal(t, listed+1, s.count("tools/list"))
			require.NoError(t, c.Close())
		})
	})
	t.Run("of a subscription", func(t *testing.T) {
		t.Parallel()
		bothWays(t, func(t *testing.T, over string) {
			c, ls := listenOver(t, over)
			_, err := c.Subscribe(t.Context(), toolsAndX, (&record{}).change)
			require.NoError(t, err)
			getSchema(t, c, "echo")
			listed := ls.lists()
			getSchema(t, c, "echo")
			require.Equal(t, listed, ls.lists(), "it is kept")
			l := ls.nth(t, 0)
			ls.say(l, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, l.id.AppendJSON(nil)))
			pass(10 * time.Second)
			require.Equal(t, 2, ls.count())
			getSchema(t, c, "echo")
			require.Equal(t, listed+1, ls.lists())
		})
	})
}

// A program that comes back in another era is asked what it has. What a cache that
// others share has of either era was of a program before it.
func TestRestartForgetsBothEras(t *testing.T) {
	stateless := func(_ int, s *fakeServer) error {
		s.result("server/discover", discoverStateless)
		s.on("initialize", func(jsonrpc.Request) any {
			return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		})
		s.result("tools/list", `{"resultType":"complete","ttlMs":3600000,"cacheScope":"public",`+oneTool[1:])
		return nil
	}
	cache, err := client.NewCache(toolcache.Settings{})
	require.NoError(t, err)
	supervised(t, func(n int, s *fakeServer) error {
		if n > 1 {
			return stateless(n, s)
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		sharing := func(version mcp.Version, program *fakePrograms) *client.Client {
			other, err := client.Connect(t.Context(), program, client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil), client.WithCache(client.CacheConfig{Shared: cache}))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, other.Close()) })
			require.Equal(t, version, other.ProtocolVersion())
			getSchema(t, other, "echo")
			return other
		}
		require.Equal(t, mcp.Version2025_11_25, c.ProtocolVersion())
		program := &fakePrograms{t: t}
		before := sharing(mcp.Version2025_11_25, program)
		sharing(mcp.Version2026_07_28, &fakePrograms{t: t, set: stateless})
		listed := program.last().count("tools/list")
		p.last().crash()
		pass(10 * time.Second)
		require.Equal(t, mcp.Version2026_07_28, c.ProtocolVersion())
		getSchema(t, c, "echo")
		require.Equal(t, 1, p.last().count("tools/list"))
		getSchema(t, before, "echo")
		require.Equal(t, listed+1, program.last().count("tools/list"))
	}, client.WithProtocolVersion(client.AutoVersion), client.WithCache(client.CacheConfig{Shared: cache}))
}
