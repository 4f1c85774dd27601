package transport

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// oneConn is a listener with one connection.
type oneConn struct {
	conns chan net.Conn
	net.Listener
}

func (l *oneConn) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{} }
func (l *oneConn) Close() error   { return nil }

// HTTP/2 reads ahead. Its buffer of an unread answer is not counted by the budget, so it must be
// small.
func TestPoolTakesLittleOfWhatIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		var h2c http.Protocols
		h2c.SetUnencryptedHTTP2(true)
		srv := &http.Server{Protocols: &h2c, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for piece := make([]byte, 4<<10); ; sent.Add(int64(len(piece))) {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})}
		ours, theirs := net.Pipe()
		l := &oneConn{conns: make(chan net.Conn, 1)}
		l.conns <- theirs
		served := make(chan error)
		go func() { served <- srv.Serve(l) }()
		pool := newPool()
		pool.Protocols = &h2c
		pool.DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://memory.invalid", nil)
		require.NoError(t, err)
		resp, err := pool.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, 2, resp.ProtoMajor)
		synctest.Wait()
		ahead := sent.Load()
		require.NoError(t, resp.Body.Close())
		pool.CloseIdleConnections()
		close(l.conns)
		require.NoError(t, srv.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
		_ = ours.Close()
		require.InDelta(t, streamWindow, ahead, 16<<10)
	})
}
