package proxy_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// Before its own time-out, the host learns that the tool may have run, and the server that it is
// cancelled.
func TestHostTimeout(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		s := clienttest.NewServer(t)
		cancelled := make(chan struct{})
		s.Tool("slow", "", func(c *clienttest.Call) (any, error) {
			<-c.Context().Done()
			close(cancelled)
			return nil, c.Context().Err()
		})
		h := newRawHost(t, s, server, proxy.WithHostTimeout(time.Minute))
		h.begin(host)
		began := time.Now()
		answer := h.asked(host, 2, mcp.MethodToolsCall, `"name":"slow"`)
		require.Equal(t, 58*time.Second, time.Since(began).Truncate(time.Second))
		require.Contains(t, answer, `"isError":true`)
		require.Contains(t, answer, "The tool may have run: check before you call it again.")
		require.Contains(t, answer, "still running")
		require.Contains(t, answer, `"delivery":"unknown"`)
		<-cancelled
		require.NoError(t, h.close())
	})
}

// A call that was not sent did not run. The next one finds the server that was started for it.
func TestHostTimeoutNotSent(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		store := folder(t)
		h := newRawHost(t, slowServer(t, "a"), server, proxy.WithCache(store, "s"))
		h.begin(host)
		require.NoError(t, h.close())

		h = newRawHost(t, slowServer(t, "a"), server, proxy.WithCache(store, "s"), proxy.WithHostTimeout(15*time.Second))
		h.begin(host)
		answer := h.asked(host, 2, mcp.MethodToolsCall, `"name":"a"`)
		require.Contains(t, answer, "The tool did not run: ")
		require.Contains(t, answer, "You may call it again.")
		require.Contains(t, answer, `"delivery":"not-sent","retryable":true`)
		require.Contains(t, h.asked(host, 3, mcp.MethodToolsCall, `"name":"a"`), "I am a")
		require.NoError(t, h.close())
	})
}

// A first start that takes too long answers initialize with the reason.
func TestHostTimeoutOfInitialize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newRawHost(t, slowServer(t), mcp.LatestSession, proxy.WithHostTimeout(10*time.Second))
		h.send(1, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}}`)
		answer := h.read()
		require.Contains(t, answer, `"code":-32000`)
		require.Contains(t, answer, "the server was still not ready after 9s")
		require.NoError(t, h.close())
	})
}

// An error that the server answers with in time is its own.
func TestHostTimeoutInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.On("example/method", func(*clienttest.Call) (any, error) {
			time.Sleep(57 * time.Second)
			return nil, errors.New("broken")
		})
		h := newRawHost(t, s, mcp.LatestSession, proxy.WithHostTimeout(time.Minute))
		h.initialize(`{}`)
		require.Contains(t, h.asked(mcp.EraSession, 2, "example/method", ""), `"code":-32603`)
		require.NoError(t, h.close())
	})
}
