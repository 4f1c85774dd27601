package proxy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// The second start before several servers answers at once also for those that are slow or dead,
// with what they had. Their calls wait, or fail with the truth; lists that changed are announced.
func TestSecondStartOfSeveral(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		start := func(slow, other proxy.Target, unkept *clienttest.Server) *rawHost {
			return startHost(t, proxy.Servers(
				proxy.Named{Name: "slow", Target: slow, Identity: "slow"}, proxy.Named{Name: "other", Target: other, Identity: "other"},
				proxy.Named{Name: "unkept", Target: pinned(unkept, server)},
			), proxy.WithCache(store, ""))
		}
		quick := func(tool string) *clienttest.Server {
			s := clienttest.NewServer(t)
			s.SetCapabilities(allLists)
			s.Tool(tool, "", answers("I am "+tool))
			return s
		}
		slow := slowServer(t, "a")
		slow.Resource("file:///a", "text/plain", "alpha")
		h := start(pinned(slow, server), pinned(quick("x"), server), quick("u"))
		h.begin(host)
		pause(2 * startTime) // the slow server comes late
		require.Equal(t, 3, strings.Count(h.asked(host, 2, mcp.MethodToolsList, ""), `"inputSchema"`))
		require.Contains(t, h.asked(host, 3, mcp.MethodResourcesList, ""), "file:///a")
		require.NoError(t, h.close())

		dead := proxy.Target(func(context.Context, ...client.Option) (*client.Client, error) { return nil, errors.New("it is dead") })
		began := time.Now()
		h = start(pinned(slowServer(t, "b"), server), dead, quick("u"))
		h.begin(host)
		require.Zero(t, time.Since(began))
		tools := h.asked(host, 2, mcp.MethodToolsList, "")
		for _, name := range []string{"slow__a", "other__x", "unkept__u"} {
			require.Contains(t, tools, name)
		}
		require.Contains(t, h.asked(host, 3, mcp.MethodResourcesList, ""), "file:///a")
		require.Zero(t, time.Since(began))
		require.Contains(t, h.asked(host, 4, mcp.MethodToolsCall, `"name":"other__x"`), "it is dead")
		require.Less(t, time.Since(began), 2*time.Second)
		answer, changes := "", 3 // in any order; nothing without a subscription
		if host == mcp.EraSession {
			h.send(5, mcp.MethodToolsCall, `{"name":"slow__b"}`)
			changes = 0
		} else {
			h.stateless(5, mcp.MethodToolsCall, `{}`, ``, `,"name":"slow__b"`)
		}
		for answer == "" || changes < 3 {
			if line := h.read(); strings.Contains(line, "list_changed") {
				changes++
			} else {
				answer = line
			}
		}
		require.Equal(t, 3, changes)
		require.Contains(t, answer, "I am b")
		require.GreaterOrEqual(t, time.Since(began), startTime)
		synctest.Wait()
		require.Contains(t, h.asked(host, 6, mcp.MethodToolsList, ""), "slow__b")
		require.NotContains(t, h.asked(host, 7, mcp.MethodResourcesList, ""), "file:///a")
		require.NoError(t, h.close())
	})
}
