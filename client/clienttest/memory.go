package clienttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Transport returns a transport for client.Connect to the server in memory. The
// server plays a program that speaks over stdin and stdout, and each connection
// is one run of the program. It can connect many times. It works inside a
// testing/synctest bubble if the server was made there.
//
// A client soon restarts a run that has ended, see client.Restart. Five
// ends within a minute are a crash loop; the client then waits for a minute.
// After Close, connecting fails as for a missing program.
func (s *Server) Transport() transport.Transport { return memory{s: s} }

// Stream returns a transport for client.Connect to the server in memory, over a
// plain byte stream such as a socket. A client cannot restart it: if the connection
// breaks, the client has ended. Otherwise it is like [Server.Transport].
func (s *Server) Stream() transport.Transport { return memory{s: s, plain: true} }

// OnConnect sets a function that runs before each connection in memory, of
// [Server.Transport] and [Server.Stream]. n counts them from 1. It can prepare what
// this run of the program answers, with [Server.On]. If it returns an error, the
// client cannot connect: the program could not be started.
func (s *Server) OnConnect(f func(n int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connect = f
}

// Exit ends all connections in memory, as a program does that exits. With
// [Server.Transport], clients can connect again at once.
func (s *Server) Exit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.runs {
		end()
	}
}

type memory struct {
	s     *Server
	plain bool // a byte stream, not a program
}

// String implements [transport.Transport].
func (memory) String() string { return "clienttest" }

// Connect implements [transport.Transport].
func (m memory) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	s := m.s
	n, err := s.connecting()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		err = fmt.Errorf("the test's server is closed: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, &transport.Failure{
			Reason: transport.ReasonUnavailable, NotSent: true, Err: err, Process: &mcperrors.ProcessEvidence{Command: []string{"clienttest"}},
		}
	}
	stream, conn := transport.InMemory()
	run, end := context.WithCancel(s.ctx)
	s.runs[n] = end
	s.work.Go(func() {
		s.serveLines(run, end, origin{connection: n}, conn)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.runs, n)
	})
	opened, err := stream.Connect(ctx, h)
	if err != nil || m.plain {
		if err != nil {
			end()
		}
		return opened, err
	}
	return &program{streamed: opened.(streamed), end: end, ended: run.Done()}, nil
}

// connecting counts a connection and runs the function of OnConnect.
func (s *Server) connecting() (n int, err error) {
	s.mu.Lock()
	s.connected++
	n, f := s.connected, s.connect
	s.mu.Unlock()
	if f != nil {
		err = f(n)
	}
	return n, err
}

// streamed is a connection over a stream.
type streamed interface {
	transport.Conn
	Received() uint64
	Late() uint64
	Backlog() jsonrpc.Backlog
}

// program is one run of the server.
type program struct {
	streamed
	end   context.CancelFunc
	ended <-chan struct{}
}

// Traits implements [transport.Conn].
func (*program) Traits() transport.Traits { return transport.Traits{Process: true} }

// Kill ends the program at once.
func (p *program) Kill(error) { p.end() }

// Exited returns a channel that is closed when the program has ended.
func (p *program) Exited() <-chan struct{} { return p.ended }

// Ended returns why the program ended.
func (*program) Ended() *transport.Failure {
	return &transport.Failure{
		Reason: transport.ReasonLost, NotSent: true, Err: jsonrpc.ErrPeerClosed,
		Process: &mcperrors.ProcessEvidence{Command: []string{"clienttest"}, Exited: true},
	}
}

// Call implements [transport.Conn].
func (p *program) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	answer, err := p.streamed.Call(ctx, req)
	var f *transport.Failure
	if errors.As(err, &f) && f.Reason == transport.ReasonLost {
		f.Process = p.Ended().Process
	}
	return answer, err
}

// serveLines serves one run of the program until the client disconnects or ctx ends, which
// end causes.
func (s *Server) serveLines(ctx context.Context, end context.CancelFunc, from origin, conn net.Conn) {
	defer conn.Close() //nolint:errcheck // a pipe
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var writing sync.Mutex
	write := func(frame []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = conn.Write(append(frame, '\n')) // fails only if the client is gone
	}
	push := func(m jsonrpc.Message) { write(m.AppendJSON(nil)) }
	var calls sync.WaitGroup
	defer calls.Wait()
	defer end()
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
				resp, err := s.answer(ctx, m, from, push)
				var web *HTTPError
				switch {
				case errors.Is(err, ErrCut):
					end()
				case errors.As(err, &web):
					s.t.Errorf("clienttest: %v was to answer %s, but Transport has no HTTP; use Server.HTTP or Server.URL", web, m.Method)
					resp.Error = rpcError(web)
					write(resp.frame())
				case err == nil:
					write(resp.frame())
				}
			})
		case jsonrpc.Notification:
			s.note(m, from)
			if m.Method == mcp.MethodInitialized {
				unlisten()
				unlisten = s.open(&sink{push: push})
			}
		case jsonrpc.Response:
			s.answered(m)
		default:
			s.t.Errorf("clienttest: the client sent an invalid message: %v", err)
			return
		}
	}
}
