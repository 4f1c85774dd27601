package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/pool"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// sessionEra saves the probe where a test does not need it.
var sessionEra = client.WithProtocolVersion(string(mcp.Version2025_11_25))

// moody is a transport whose attempts depend on mood, which gets the number of the
// attempt, from 1: nil connects, errHangs does not answer, any other error is the outcome.
type moody struct {
	transport.Transport
	mood  func(try int) error
	tries atomic.Int32
}

var errHangs = errors.New("hangs")

func (m *moody) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	switch err := m.mood(int(m.tries.Add(1))); {
	case err == nil:
		return m.Transport.Connect(ctx, h)
	case errors.Is(err, errHangs):
		<-ctx.Done()
		return nil, &transport.Failure{Reason: transport.ReasonCanceled, NotSent: true, Err: ctx.Err()}
	default:
		return nil, err
	}
}

func refuses(int) error {
	return &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("connection refused")}
}

func hangs(int) error { return errHangs }

// socket reaches a server that the client did not start, so that the pool connects again
// after a lost connection.
type socket struct{ transport.Transport }

func (s socket) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := s.Transport.Connect(ctx, h)
	return socketConn{conn}, err
}

type socketConn struct{ transport.Conn }

func (socketConn) Traits() transport.Traits { return transport.Traits{} }

func (c socketConn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	answer, err := c.Conn.Call(ctx, req)
	if f, ok := errors.AsType[*transport.Failure](err); ok {
		f.Process = nil
	}
	return answer, err
}

// toolServer is a server whose tools answer with the server's name and their own.
func toolServer(t *testing.T, name string, tools ...string) *clienttest.Server {
	s := clienttest.NewServer(t)
	for _, tool := range tools {
		s.Tool(tool, "", func(*clienttest.Call) (any, error) { return clienttest.Text(name + "/" + tool), nil })
	}
	return s
}

func serverAt(name string, t transport.Transport) pool.Server {
	return pool.Server{Name: name, Transport: t}
}

// eventLog records the events of a pool.
type eventLog struct {
	mu     sync.Mutex
	events []string
}

func (l *eventLog) option() pool.Option {
	return pool.OnEvent(func(_ context.Context, e pool.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.Event == nil {
			l.events = append(l.events, e.Server+" "+e.State.String())
		} else {
			l.events = append(l.events, fmt.Sprintf("%s %T", e.Server, e.Event))
		}
	})
}

func (l *eventLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.events...)
}

func toolNames(list *pool.ToolList) []string {
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}
