// Package memhttp serves HTTP over pipes in memory, so that tests of HTTP code run in a
// testing/synctest bubble: nothing in it waits for the network.
package memhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// URL is the URL of every [Server]; only the server's own Transport reaches it.
const URL = "http://memory.invalid"

// Server is an HTTP server in memory. Create it with [New] and end it with Close, in the same
// synctest bubble.
type Server struct {
	srv  http.Server
	pool *http.Transport
	ends chan net.Conn
	quit chan struct{}
	done chan struct{}

	mu    sync.Mutex
	conns []net.Conn
	stop  sync.Once
}

// New starts a server with the handler h.
func New(h http.Handler) *Server {
	s := &Server{ends: make(chan net.Conn), quit: make(chan struct{}), done: make(chan struct{})}
	s.srv.Handler = h
	s.pool = &http.Transport{DialContext: s.dial, MaxIdleConnsPerHost: 1024}
	go func() {
		defer close(s.done)
		_ = s.srv.Serve(listener{s}) // always ends with ErrServerClosed
	}()
	return s
}

// Transport returns a transport that reaches the server under any host name.
func (s *Server) Transport() *http.Transport { return s.pool }

// Opened returns the number of connections opened so far.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Cut breaks every connection, as a network failure does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// Close breaks every connection and stops the server. It may be called again.
func (s *Server) Close() {
	s.stop.Do(func() {
		close(s.quit)
		_ = s.srv.Close()
		s.Cut()
		s.pool.CloseIdleConnections()
		<-s.done
	})
}

var errClosed = errors.New("the server in memory is closed")

func (s *Server) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case s.ends <- theirs:
	case <-s.quit:
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: errClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, ours)
	return ours, nil
}

// listener returns the server's ends of dialed connections.
type listener struct{ s *Server }

// Accept implements [net.Listener].
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.s.ends:
		return c, nil
	case <-l.s.quit:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (listener) Close() error { return nil }

// Addr implements [net.Listener].
func (listener) Addr() net.Addr { return addr{} }

type addr struct{}

// Network implements [net.Addr].
func (addr) Network() string { return "memory" }

// String implements [net.Addr].
func (addr) String() string { return "memory" }
