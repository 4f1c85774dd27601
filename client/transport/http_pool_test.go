package transport

import (
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// connections counts the connections of a server, open and in total.
type connections struct {
	open, ever atomic.Int64
	gone       chan struct{} // one for each closed one
}

func (n *connections) note(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		n.ever.Add(1)
		n.open.Add(1)
	case http.StateClosed:
		n.open.Add(-1)
		n.gone <- struct{}{}
	}
}

func answering(t *testing.T, wait *sync.WaitGroup) (string, *connections) {
	t.Helper()
	n := &connections{gone: make(chan struct{}, 10_000)}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if wait != nil {
			wait.Done()
			wait.Wait()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}))
	srv.Config.ConnState = n.note
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL, n
}

func open(t *testing.T, url string) *httpConn {
	t.Helper()
	conn, err := (&HTTP{URL: url}).Connect(t.Context(), Handler{})
	require.NoError(t, err)
	return conn.(*httpConn)
}

func ask(t *testing.T, c *httpConn) {
	t.Helper()
	_, err := c.Call(t.Context(), Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: "m"}})
	require.NoError(t, err)
}

// Connections without a RoundTripper share one pool, and the last Close leaves no socket. The
// pool is global, so this test is not parallel.
func TestHTTPSharedPool(t *testing.T) { //nolint:paralleltest // looks at what all connections share
	url, n := answering(t, nil)
	a, b := open(t, url), open(t, url)
	for range 3 {
		ask(t, a)
		ask(t, b)
	}
	require.Equal(t, int64(1), n.ever.Load())
	require.NoError(t, a.Close())
	require.NoError(t, a.Close()) // counts once
	ask(t, b)
	require.Equal(t, int64(1), n.ever.Load(), "what one had, the other uses")
	require.NoError(t, b.Close())
	<-n.gone
	require.Zero(t, n.open.Load())
	c := open(t, url)
	ask(t, c)
	require.Equal(t, int64(2), n.ever.Load())
	require.NoError(t, c.Close())
	<-n.gone
	require.Zero(t, shared.users)
	require.Nil(t, shared.rt)
}

// A burst keeps its connections for the next one.
func TestHTTPBurstKeepsConnections(t *testing.T) { //nolint:paralleltest // as above
	const size = 1100 // more than common limits of idle connections
	var together sync.WaitGroup
	url, n := answering(t, &together)
	c := open(t, url)
	for range 2 {
		together.Add(size)
		var work sync.WaitGroup
		for range size {
			work.Go(func() { ask(t, c) })
		}
		work.Wait()
	}
	require.Equal(t, int64(size), n.ever.Load())
	require.NoError(t, c.Close())
}

// Unchanged headers are one map for all connections.
func TestHTTPSharedHeaders(t *testing.T) {
	t.Parallel()
	sent := func(h *HTTP, version, id string) http.Header {
		conn, err := h.Connect(t.Context(), Handler{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		c := conn.(*httpConn)
		if id != "" {
			c.setSession(id)
		}
		c.UseVersion(version)
		before := c.session.current()
		require.Same(t, before, c.session.current(), "made once while it is in use")
		header := before.header
		runtime.GC() // which forgets it
		require.Equal(t, header, c.session.current().header)
		return header
	}
	plain := &HTTP{URL: "http://localhost/", RoundTripper: http.DefaultTransport}
	own := &HTTP{URL: "http://localhost/", RoundTripper: http.DefaultTransport, Header: http.Header{"X": {"y"}}}
	secret := &HTTP{URL: "http://u:p@localhost/", RoundTripper: http.DefaultTransport}
	sent(own, "2025-11-25", "s1")
	sent(secret, "2025-11-25", "s2")
	sent(plain, "2025-11-25", "s3")
	want := http.Header{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	require.Equal(t, want, sent(plain, "2025-11-25", ""))
	want.Set("Mcp-Session-Id", "s4")
	require.Equal(t, want, sent(plain, "2025-11-25", "s4"))
	want.Set("X", "y")
	require.Equal(t, want, sent(own, "2025-11-25", "s4"))
	want.Set("Mcp-Protocol-Version", "V1")
	require.Equal(t, want, sent(own, "V1", "s4"))
}
