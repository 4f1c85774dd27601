package inbound_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// conn accepts responses, or fails with an error.
type conn struct {
	transport.Conn
	s *steps
}

func (c conn) Traits() transport.Traits { return transport.Traits{Exchanges: c.s.exchanges} }

func (conn) Done() <-chan struct{} { return nil }

func (c conn) Touch(id jsonrpc.ID) { c.s.note("touch %s", id) }

func (c conn) Respond(_ context.Context, r jsonrpc.Response) error {
	if r.Error != nil {
		c.s.note("error %d", r.Error.Code)
	} else {
		c.s.note("response %s", r.Result)
	}
	return c.s.fails
}

// steps is an Inbound that records its steps in order.
type steps struct {
	*inbound.Inbound
	core  core.Core
	hear  bool
	fails error

	mu        sync.Mutex
	all       []string
	exchanges bool
}

func (s *steps) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, fmt.Sprintf(format, args...))
}

func (s *steps) take() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

func newSteps() *steps {
	s := &steps{hear: true}
	s.core.Log = slog.New(slog.DiscardHandler)
	s.core.Failed = func(e *callback.Error) { s.note("failed %v", e) }
	s.core.Emit = func(e event.Event) {
		if e, ok := e.(event.RequestDropped); ok {
			s.note("dropped %s", e.Method)
		}
	}
	s.core.Life.Begin()
	offer := &ask.Offer{Roots: []mcp.Root{}}
	_ = offer.Complete()
	s.Inbound = inbound.New(&s.core, s, inbound.Config{
		Asks:     ask.Config{Offer: offer},
		Handlers: &inbound.Handlers{Notification: func(_ context.Context, n jsonrpc.Notification) { s.note("handler %s", n.Method) }},
	})
	return s
}

func (s *steps) Outdate(n jsonrpc.Notification) { s.note("outdate %s", n.Method) }

func (s *steps) Hear(n jsonrpc.Notification, _ jsonrpc.ID) bool {
	s.note("hear %s", n.Method)
	return s.hear
}

func (s *steps) TaskChanged(n jsonrpc.Notification) { s.note("task %s", n.Method) }
func (s *steps) NoteLoss(*link.Link, error)         { s.note("lost") }

func (s *steps) close() {
	s.core.Life.Move(life.Closed, nil)
	s.core.Life.End()
	s.Notifier().Stop()
	s.core.Life.Await(time.Minute)
}

// Each notification is dispatched: first to what it makes stale, last to handlers.
func TestNotification(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method  string
		dropped bool // dropped by subscriptions
		want    []string
	}{
		"an unknown one": {method: "acme/x", want: []string{"outdate acme/x", "hear acme/x", "handler acme/x"}},
		"a list": {
			method: mcp.MethodToolsListChanged,
			want:   []string{"outdate " + mcp.MethodToolsListChanged, "hear " + mcp.MethodToolsListChanged, "handler " + mcp.MethodToolsListChanged},
		},
		"of no subscription": {
			method: mcp.MethodToolsListChanged, dropped: true,
			want: []string{"outdate " + mcp.MethodToolsListChanged, "hear " + mcp.MethodToolsListChanged},
		},
		"of a task": {
			method: mcp.MethodTasksStatus,
			want:   []string{"task " + mcp.MethodTasksStatus, "outdate " + mcp.MethodTasksStatus, "hear " + mcp.MethodTasksStatus, "handler " + mcp.MethodTasksStatus},
		},
		"progress": {method: mcp.MethodProgress, want: []string{"touch 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSteps()
				defer s.close()
				s.core.Links.Use(conn{s: s})
				s.hear = !c.dropped
				s.Notification(t.Context(), jsonrpc.Notification{Method: c.method, Params: []byte(`{"progressToken":7,"progress":1}`)}, jsonrpc.ID{})
				require.Equal(t, c.want, s.take())
			})
		})
	}
}

// Requests are answered in the session era, and dropped in the stateless era.
func TestRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		era       mcp.Era
		exchanges bool
		method    string
		fails     error
		want      []string
	}{
		"ping":                 {era: mcp.EraSession, method: mcp.MethodPing, want: []string{"response {}"}},
		"roots":                {era: mcp.EraSession, method: mcp.MethodRootsList, want: []string{`response {"roots":[]}`}},
		"unknown":              {era: mcp.EraSession, method: "acme/x", want: []string{"error -32601"}},
		"a loss":               {era: mcp.EraSession, method: mcp.MethodPing, fails: errors.New("gone"), want: []string{"response {}", "lost"}},
		"stateless":            {era: mcp.EraStateless, method: mcp.MethodPing, want: []string{"response {}"}},
		"stateless, not ping":  {era: mcp.EraStateless, method: mcp.MethodRootsList, want: []string{"dropped roots/list"}},
		"stateless, over HTTP": {era: mcp.EraStateless, exchanges: true, method: mcp.MethodPing, want: []string{"dropped ping"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSteps()
				defer s.close()
				s.fails, s.exchanges = c.fails, c.exchanges
				s.core.Links.Use(conn{s: s})
				s.core.Links.Agree(&link.Agreement{Era: c.era, Version: mcp.LatestSession})
				s.Request(t.Context(), ask.Incoming{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: c.method}})
				require.Equal(t, c.want, s.take())
			})
		})
	}
}

// A server may send a request before the client has the connection: the response waits for it.
func TestEarlyRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteps()
		defer s.close()
		s.Request(t.Context(), ask.Incoming{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: mcp.MethodPing}})
		require.Empty(t, s.take())
		s.core.Links.Use(conn{s: s})
		require.Equal(t, []string{"response {}"}, s.take())
	})
}
