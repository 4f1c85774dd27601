package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// fakePrograms is a transport whose connections look like programs to the client, in
// virtual time. set returns the n-th program, counted from 1; an error means that it
// could not be started.
type fakePrograms struct {
	t   testing.TB
	set func(n int, s *fakeServer) error

	mu   sync.Mutex
	runs []*fakeServer
}

func (f *fakePrograms) String() string { return "program" }

func (f *fakePrograms) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, &transport.Failure{Reason: transport.ReasonCanceled, NotSent: true, Err: ctx.Err()}
	}
	tr, s := newFake(f.t)
	f.mu.Lock()
	f.runs = append(f.runs, s)
	n := len(f.runs)
	f.mu.Unlock()
	if f.set != nil {
		if err := f.set(n, s); err != nil {
			_ = s.conn.Close()
			return nil, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: err, Process: &mcperrors.ProcessEvidence{Command: []string{"program"}}}
		}
	}
	conn, err := tr.Connect(ctx, h)
	return fakeProgram{Conn: conn, s: s}, err
}

// count is how many programs were started.
func (f *fakePrograms) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.runs)
}

// last is the program that was started last.
func (f *fakePrograms) last() *fakeServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[len(f.runs)-1]
}

// fakeProgram is a connection whose value cannot be compared, as those of
// applications may be: the client must tell connections apart by something else.
type fakeProgram struct {
	transport.Conn
	s *fakeServer
	_ []byte
}

func (fakeProgram) Traits() transport.Traits { return transport.Traits{Process: true} }

func (p fakeProgram) Received() uint64 { return p.Conn.(link.Counter).Received() }

func (p fakeProgram) Late() uint64 { return p.Conn.(link.Counter).Late() }

func (p fakeProgram) Backlog() jsonrpc.Backlog { return p.Conn.(link.Outbox).Backlog() }

func (p fakeProgram) Exited() <-chan struct{} {
	if p.s.exited != nil {
		return p.s.exited
	}
	return p.s.done
}

func (p fakeProgram) Kill(error) { _ = p.s.conn.Close() }

func (p fakeProgram) Close() error { return ignoreClosed(p.Conn.Close()) }

func (p fakeProgram) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	answer, err := p.Conn.Call(ctx, req)
	if f, ok := errors.AsType[*transport.Failure](err); ok && f.Reason == transport.ReasonLost {
		f.Process = p.Ended().Process
	}
	return answer, err
}

func (p fakeProgram) Ended() *transport.Failure {
	return &transport.Failure{
		Reason: transport.ReasonLost, NotSent: true, Err: jsonrpc.ErrPeerClosed,
		Process: &mcperrors.ProcessEvidence{Command: []string{"program"}, Exited: true, Exit: 3, Stderr: []string{"out of luck"}},
	}
}

// crash ends the program.
func (s *fakeServer) crash() { _ = s.conn.Close() }

// crashesOn ends the program when a request of a method comes.
func (s *fakeServer) crashesOn(method string) {
	s.on(method, func(jsonrpc.Request) any { s.crash(); return nil })
}

// happenings are the events of a client, in a few words.
type happenings struct {
	mu  sync.Mutex
	all []string
}

func (h *happenings) option() client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch e := e.(type) {
		case client.StateChanged:
			h.all = append(h.all, e.From.String()+" to "+e.To.String())
		case client.Restarted:
			h.all = append(h.all, "restarted")
		case client.Disconnected:
			h.all = append(h.all, "disconnected")
		case client.Reinitialized:
			h.all = append(h.all, "reinitialized")
		case client.Negotiated:
			h.all = append(h.all, "era "+string(e.Version))
		case client.SubscriptionGap:
			h.all = append(h.all, "gap")
		}
	})
}

// take returns what happened since the last time.
func (h *happenings) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// supervised runs a test with a client of programs, in a bubble.
func supervised(t *testing.T, set func(n int, s *fakeServer) error, f func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings), opts ...client.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, h := &fakePrograms{t: t, set: set}, &happenings{}
		base := []client.Option{sessionEra, client.WithEraStore(nil), h.option()}
		c, err := client.Connect(t.Context(), p, append(base, opts...)...)
		require.NoError(t, err)
		defer func() { _ = c.Close() }() // also of a test that fails
		synctest.Wait()
		h.take()
		require.Equal(t, client.StateReady, c.State())
		f(t, c, p, h)
		require.NoError(t, c.Close())
		require.Equal(t, client.StateClosed, c.State())
	})
}

func callOnce(ctx context.Context, c *client.Client) error {
	_, err := c.CallTool(ctx, "echo", message)
	return err
}
