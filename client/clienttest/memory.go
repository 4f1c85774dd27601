package clienttest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Transport returns the way to the server in memory, for client.Connect. It may
// be connected many times. Nothing in it waits for the network, so that it works
// in a testing/synctest bubble when the server was made there.
func (s *Server) Transport() transport.Transport { return memory{s} }

type memory struct{ s *Server }

// String implements [transport.Transport].
func (memory) String() string { return "clienttest" }

// Connect implements [transport.Transport].
func (m memory) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if m.s.closed {
		return nil, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("the test's server is closed")}
	}
	stream, conn := transport.InMemory()
	m.s.work.Go(func() { m.s.serveLines(conn) })
	return stream.Connect(ctx, h)
}

// serveLines is one client's connection in memory.
func (s *Server) serveLines(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // a pipe
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var writing sync.Mutex
	push := func(m jsonrpc.Message) {
		writing.Lock()
		defer writing.Unlock()
		// A client that is gone misses nothing.
		_, _ = conn.Write(append(m.AppendJSON(nil), '\n'))
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	unlisten := func() {}
	defer func() { unlisten() }()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		switch m := m.(type) {
		case jsonrpc.Request:
			calls.Go(func() {
				resp, err := s.answer(ctx, m, push)
				switch {
				case errors.Is(err, ErrCut):
					cancel()
				case err == nil:
					push(resp)
				}
			})
		case jsonrpc.Notification:
			s.note(m)
			if m.Method == mcp.MethodInitialized {
				unlisten()
				unlisten = s.open(&sink{push: push})
			}
		case jsonrpc.Response:
			s.answered(m)
		default:
			s.t.Errorf("clienttest: the client sent what is no message: %v", err)
			return
		}
	}
}
