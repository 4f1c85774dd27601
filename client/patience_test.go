package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// pipe is like one of the system: it takes 64 KiB that nobody reads.
type pipe struct {
	mu     sync.Mutex
	change *sync.Cond
	held   []byte
	closed bool
}

func newPipe() *pipe {
	p := &pipe{}
	p.change = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for len(p.held) == 64<<10 && !p.closed {
			p.change.Wait()
		}
		if p.closed {
			return n, io.ErrClosedPipe
		}
		part := b[:min(len(b), 64<<10-len(p.held))]
		p.held, b, n = append(p.held, part...), b[len(part):], n+len(part)
		p.change.Broadcast()
	}
	return n, nil
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.held) == 0 && !p.closed {
		p.change.Wait()
	}
	if len(p.held) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.held)
	p.held = append(p.held[:0], p.held[n:]...)
	p.change.Broadcast()
	return n, nil
}

func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.change.Broadcast()
	return nil
}

// lineServer is a server like a few lines of Python: it reads a line, handles it,
// writes the answer and reads the next. It speaks both eras. A tool takes as many
// seconds as its message tells; a negative number never ends.
type lineServer struct {
	in, out *pipe
	ended   chan struct{} // closed with its streams
	over    chan struct{} // closed when it has ended

	mu  sync.Mutex
	did []string // the methods, when they were done
}

func newLineServer(t *testing.T) *lineServer {
	s := &lineServer{in: newPipe(), out: newPipe(), ended: make(chan struct{}), over: make(chan struct{})}
	go s.serve(t)
	return s
}

func (s *lineServer) serve(t *testing.T) {
	defer close(s.over)
	for lines := bufio.NewScanner(s.in); lines.Scan(); {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Arguments struct{ Message int }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			t.Errorf("%s: %v", lines.Text(), err)
			return
		}
		answer := ""
		switch req.Method {
		case "initialize":
			answer = initResult
		case "server/discover":
			answer = discoverResult
		case "tools/list":
			answer = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
		case "tools/call":
			work := time.After(time.Duration(req.Params.Arguments.Message) * time.Second)
			if req.Params.Arguments.Message < 0 {
				work = nil
			}
			select {
			case <-work:
			case <-s.ended:
				return
			}
			answer = doneResult
		case "ping":
			answer = `{}`
		}
		s.mu.Lock()
		s.did = append(s.did, req.Method)
		s.mu.Unlock()
		if answer != "" {
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, answer)
		}
	}
}

func (s *lineServer) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.did {
		if m == method {
			n++
		}
	}
	return n
}

// end is the end of the program.
func (s *lineServer) end() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
	_, _ = s.in.Close(), s.out.Close()
}

// linePrograms is a transport whose connections are such servers, as programs.
type linePrograms struct {
	t    *testing.T
	mu   sync.Mutex
	runs []*lineServer
}

func (p *linePrograms) String() string { return "program" }

func (p *linePrograms) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	s := newLineServer(p.t)
	p.mu.Lock()
	p.runs = append(p.runs, s)
	p.mu.Unlock()
	conn, err := (&transport.Stream{In: s.out, Out: s.in}).Connect(ctx, h)
	return lineProgram{conn, s}, err
}

func (p *linePrograms) all() []*lineServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

type lineProgram struct {
	transport.Conn
	s *lineServer
}

func (lineProgram) Traits() transport.Traits { return transport.Traits{Process: true} }

func (p lineProgram) Received() uint64 { return p.Conn.(link.Counter).Received() }

func (p lineProgram) Late() uint64 { return p.Conn.(link.Counter).Late() }

func (p lineProgram) Backlog() jsonrpc.Backlog { return p.Conn.(link.Outbox).Backlog() }

func (p lineProgram) Exited() <-chan struct{} { return p.s.over }

func (p lineProgram) Kill(error) { p.s.end() }

func (p lineProgram) Close() error {
	p.s.end()
	return p.Conn.Close()
}

// withLinePrograms runs a test with a client of such a program, in both eras.
func withLinePrograms(t *testing.T, f func(t *testing.T, c *client.Client, p *linePrograms)) {
	t.Helper()
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &linePrograms{t: t}
				c, err := client.Connect(t.Context(), p, client.WithProtocolVersion(version))
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				f(t, c, p)
			})
		})
	}
}

// work has the tool take so many seconds.
func work(ctx context.Context, c *client.Client, seconds int, opts ...client.CallOption) error {
	_, err := c.CallTool(ctx, "echo", map[string]int{"message": seconds}, opts...)
	return err
}

// A program that does one thing at a time is busy for longer than a silence may
// last. Its other callers queue, each within a deadline of its own.
func TestCallersOfABusyProgramQueue(t *testing.T) {
	withLinePrograms(t, func(t *testing.T, c *client.Client, p *linePrograms) {
		began := time.Now()
		calls := make(chan error, 30)
		go func() { calls <- work(t.Context(), c, 40) }()
		for range cap(calls) - 1 {
			pass(time.Second)
			go func() { calls <- work(t.Context(), c, 0) }()
		}
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := work(short, c, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
		require.Equal(t, 34*time.Second, time.Since(began))
		for range cap(calls) {
			require.NoError(t, <-calls)
		}
		require.Equal(t, 40*time.Second, time.Since(began))
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.Zero(t, p.all()[0].count("ping"), "who is busy is not asked whether it lives")
		require.Len(t, p.all(), 1)
	})
}

// The client's own timeouts prove nothing about a program or a tool if the calls that
// they end wait behind one that runs.
func TestQueuedCallsThatTimeOutOpenNoCircuit(t *testing.T) {
	withLinePrograms(t, func(t *testing.T, c *client.Client, p *linePrograms) {
		long := make(chan error, 1)
		go func() { long <- work(t.Context(), c, 300, client.WithTimeouts(-1, 10*time.Minute)) }()
		for range 3 {
			pass(time.Second)
			queued := make(chan error, 6)
			for range cap(queued) {
				go func() { queued <- work(t.Context(), c, 0) }()
			}
			for range cap(queued) {
				err := <-queued
				require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), err)
				require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
			}
			require.Equal(t, breaker.Closed, c.Breaker().State())
		}
		require.NoError(t, <-long)
		require.NoError(t, work(t.Context(), c, 0))
		require.Len(t, p.all(), 1)
	})
}

// A program that answers nothing after its calls have ended hangs, even if callers
// continue to call it. It is found in 15 s from then, and restarted.
func TestProgramThatHangsIsFound(t *testing.T) {
	withLinePrograms(t, func(t *testing.T, c *client.Client, p *linePrograms) {
		began := time.Now()
		first := make(chan error, 1)
		go func() { first <- work(t.Context(), c, -1) }()
		var opened, again time.Duration
		for again == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			err := work(ctx, c, 0)
			cancel()
			switch {
			case err == nil:
				again = time.Since(began)
			case opened == 0 && c.Breaker().State() == breaker.Open:
				opened = time.Since(began)
			}
			pass(time.Second)
			require.Less(t, time.Since(began), 10*time.Minute)
		}
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(<-first), "after a minute")
		require.Greater(t, opened, time.Minute)
		require.LessOrEqual(t, opened, time.Minute+15*time.Second+4*time.Second, "as soon as the caller at that time looks")
		require.Len(t, p.all(), 2)
		t.Logf("open after %v, served again after %v", opened, again)
	})
}
