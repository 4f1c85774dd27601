package proxy_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

type beat struct {
	Method string
	Params struct {
		ProgressToken, Message string
		Progress               float64
	}
}

// A host that waits hears why every 10 seconds, with values that rise and stay below the first
// one of the server, which is 0. Then the server tells itself.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		h := newRawHost(t, slowServer(t), server, proxy.WithCache(store, "s"))
		h.begin(host)
		require.NoError(t, h.close())

		s := slowServer(t)
		s.Tool("work", "", func(c *clienttest.Call) (any, error) {
			pause(15 * time.Second)
			c.Progress(0, "begun")
			pause(25 * time.Second)
			c.Progress(1, "half")
			pause(5 * time.Second) // the progress comes before the result
			return clienttest.Text("done"), nil
		})
		h = newRawHost(t, s, server, proxy.WithCache(store, "s"))
		h.begin(host)
		const call = `"_meta":{"progressToken":"p"},"name":"work"`
		if host == mcp.EraSession {
			h.send(2, mcp.MethodToolsCall, `{`+call+`}`)
		} else {
			h.stateless(2, mcp.MethodToolsCall, `{}`, `,"progressToken":"p"`, `,"name":"work"`)
		}
		began := time.Now()
		last := -1.0
		for _, want := range []struct {
			after   time.Duration
			message string
		}{
			{10 * time.Second, "waiting for the server to start, 10 s"},
			{20 * time.Second, "waiting for the server to "}, // it is there at this moment
			{30 * time.Second, "waiting for the server to answer, 30 s"},
			{35 * time.Second, "begun"},
			{60 * time.Second, "half"},
		} {
			var b beat
			line := h.read()
			require.NoError(t, json.Unmarshal([]byte(line), &b))
			require.Equal(t, mcp.MethodProgress, b.Method, line)
			require.Equal(t, "p", b.Params.ProgressToken)
			require.Contains(t, b.Params.Message, want.message)
			require.Equal(t, want.after, time.Since(began).Truncate(time.Second))
			require.Greater(t, b.Params.Progress, last)
			require.Equal(t, want.after < 35*time.Second, b.Params.Progress < 0)
			last = b.Params.Progress
		}
		require.Contains(t, h.read(), "done")
		require.NoError(t, h.close())
	})
}

// A call that waits for the next program reports that. A request without a token hears nothing.
func TestHeartbeatOfRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}})
		s.Tool("a", "", func(*clienttest.Call) (any, error) { return clienttest.Text("done"), nil })
		s.OnConnect(func(n int) error {
			if n > 1 {
				time.Sleep(startTime - 5*time.Second)
			}
			return nil
		})
		h := newRawHost(t, s, mcp.LatestSession)
		h.initialize(`{}`)
		s.Exit()
		synctest.Wait()
		h.send(2, mcp.MethodToolsCall, `{"name":"a"}`)
		h.send(3, mcp.MethodToolsCall, `{"name":"a","_meta":{"progressToken":"p"}}`)
		require.Contains(t, h.read(), "waiting for the server to start again, 10 s")
		require.Contains(t, h.read(), "done")
		require.Contains(t, h.read(), "done")
		require.NoError(t, h.close())
	})
}
