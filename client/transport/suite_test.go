package transport_test

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/client/transport/transporttest"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

func TestSuiteInMemory(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, transporttest.Subject{Virtual: true, New: func(t testing.TB, limits transport.Limits) transport.Transport {
		tr, server := transport.InMemory()
		tr.Limits = limits
		serveLines(t, server)
		return tr
	}})
}

// A real socket uses non-blocking writes.
func TestSuiteSocket(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, transporttest.Subject{New: func(t testing.TB, limits transport.Limits) transport.Transport {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		ours, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		server, err := l.Accept()
		require.NoError(t, err)
		serveLines(t, server)
		return &transport.Stream{In: ours, Out: ours, Name: "socket", Limits: limits}
	}})
}

// serveLines serves a peer over a connection until the test ends.
func serveLines(t testing.TB, server net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&transporttest.Peer{}).ServeLines(context.WithoutCancel(t.Context()), server, server)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

func TestSuiteCommand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	transporttest.Run(t, transporttest.Subject{New: func(_ testing.TB, limits transport.Limits) transport.Transport {
		return &transport.Command{Argv: []string{os.Args[0]}, Env: program("peer"), Limits: limits}
	}})
}

func TestSuiteHTTP(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]transporttest.Style{"json": transporttest.StyleJSON, "sse": transporttest.StyleSSE} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transporttest.Run(t, transporttest.Subject{Virtual: true, New: func(t testing.TB, limits transport.Limits) transport.Transport {
				s := memhttp.New((&transporttest.Peer{}).Handler(style))
				t.Cleanup(s.Close)
				return &transport.HTTP{URL: memhttp.URL, RoundTripper: s.Transport(), Limits: limits}
			}})
		})
	}
}

func TestSuiteSSE(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, transporttest.Subject{Virtual: true, New: func(t testing.TB, limits transport.Limits) transport.Transport {
		s := memhttp.New((&transporttest.Peer{}).StreamHandler())
		t.Cleanup(s.Close)
		return (&transport.HTTP{URL: memhttp.URL + "/sse", RoundTripper: s.Transport(), Limits: limits}).Fallback()
	}})
}
