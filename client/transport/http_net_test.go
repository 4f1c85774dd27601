package transport_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/client/transport/transporttest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// quiet keeps a server's log out of the test's output.
func quiet(h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	return srv
}

// Unlimited headers are one way to fill a client's memory.
func TestHTTPHeadersTooLarge(t *testing.T) {
	t.Parallel()
	srv := quiet(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 100<<10))
	}))
	srv.Start()
	t.Cleanup(srv.Close)
	f := dial(t, &transport.HTTP{URL: srv.URL}).fails("m", transport.ReasonTooLarge)
	require.False(t, f.NotSent)
	require.ErrorContains(t, f, "headers")
}

// A request to an unreachable server is reported as not sent.
func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	secure := quiet(http.NotFoundHandler())
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := quiet(http.NotFoundHandler())
	plain.Start()
	t.Cleanup(plain.Close)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	go func() { // closes during the handshake
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	tests := []struct {
		name, url string
		reason    transport.Reason
		notSent   bool
		says      string
	}{
		{"closed port", "http://127.0.0.1:1", transport.ReasonUnavailable, true, "refused"},
		{"no such name", "http://no-such-host.invalid/mcp", transport.ReasonUnavailable, true, "no-such-host.invalid"},
		{"unknown CA", secure.URL, transport.ReasonConfig, true, "certificate is not accepted"},
		{"wrong name", strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), transport.ReasonConfig, true, "certificate is not accepted"},
		{"https to a plain server", strings.Replace(plain.URL, "http:", "https:", 1), transport.ReasonConfig, true, "try http://"},
		{"http to a TLS server", strings.Replace(secure.URL, "https:", "http:", 1), transport.ReasonStatus, false, "400"},
		{"handshake that breaks off", "https://" + mute.Addr().String(), transport.ReasonUnavailable, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := dial(t, &transport.HTTP{URL: tt.url})
			f := p.fails("m", tt.reason)
			require.Equal(t, tt.notSent, f.NotSent)
			require.ErrorContains(t, f, tt.says)
			if tt.reason == transport.ReasonStatus {
				require.Contains(t, f.HTTP.Body, "HTTPS server")
			} else {
				require.Nil(t, f.HTTP)
			}
		})
	}
}

// A connection that the server closes between two calls may fail a call, since nothing is sent
// twice. The call never hangs, and the next one uses a new connection.
func TestHTTPServerClosesIdle(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer((&transporttest.Peer{}).Handler(transporttest.StyleJSON))
	t.Cleanup(srv.Close)
	p := dial(t, &transport.HTTP{URL: srv.URL})
	failed := 0
	for range 20 {
		if _, err := p.try("echo"); err != nil {
			var f *transport.Failure
			require.ErrorAs(t, err, &f)
			require.Contains(t, []transport.Reason{transport.ReasonLost, transport.ReasonUnavailable}, f.Reason)
			failed++
			p.answers("echo")
		}
		srv.CloseClientConnections()
	}
	require.Less(t, failed, 20)
}

// brittle is a connection that breaks during the write of a body.
type brittle struct{ net.Conn }

func (b brittle) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"method":"m"`) {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return b.Conn.Write(p)
}

// A request that could not be written was not sent, although the HTTP layer had taken it.
func TestHTTPWriteFails(t *testing.T) {
	t.Parallel()
	s := serve(t, answerAll)
	rt := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return brittle{c}, err
	}}
	t.Cleanup(rt.CloseIdleConnections)
	p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: rt})
	for range 2 {
		p.answers("another")
		require.True(t, p.fails("m", transport.ReasonUnavailable).NotSent)
	}
	require.Empty(t, s.find("m"))
}

// Concurrent callers share connections with default options. There are a few more connections
// than callers: the HTTP layer may dial for a call that then uses another connection, and a
// stream may end just after its answer.
func TestHTTPConnectionReuse(t *testing.T) {
	t.Parallel()
	const callers = 64
	for name, style := range map[string]transporttest.Style{"json": transporttest.StyleJSON, "sse": transporttest.StyleSSE} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opened atomic.Int64
			srv := httptest.NewUnstartedServer((&transporttest.Peer{}).Handler(style))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			srv.Start()
			t.Cleanup(srv.Close)
			p := dial(t, &transport.HTTP{URL: srv.URL})
			var work sync.WaitGroup
			for range callers {
				work.Go(func() {
					for range testmain.Fewer(50, 5) {
						if _, err := p.Call(t.Context(), p.request("echo")); err != nil {
							t.Errorf("call: %v", err)
						}
					}
				})
			}
			work.Wait()
			require.Less(t, opened.Load(), int64(3*callers))
		})
	}
}

// A call that is canceled while its connection is dialed was not sent.
func TestHTTPCancelDial(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) }) // the HTTP layer continues dialing for later calls
	rt := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-release
		return nil, net.ErrClosed
	}}
	p := dial(t, &transport.HTTP{URL: "http://localhost", RoundTripper: rt})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := p.Call(ctx, p.request("m"))
	require.True(t, failure(t, err, transport.ReasonCanceled).NotSent)
}
