package client

import (
	"context"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// handler is what the transport hands to: it returns at once, always.
func (c *Client) handler() transport.Handler {
	told := &faults{c: c}
	return transport.Handler{
		OnRequest:      c.onRequest,
		OnNotification: c.onNotification,
		OnFault:        told.wrong,
		OnSessionLost:  c.onSessionLost,
		OnGap:          c.onGap,
		OnCallbackFailed: func(name string, value any, stack []byte) {
			c.callbackFailed(&callback.Error{Name: name, Value: value, Stack: stack})
		},
		Budget: &c.budget,
		Trace:  c.traced(told),
	}
}

// faults logs what a connection brings that is not MCP.
type faults struct {
	c            *Client
	wrongs, odds seldom
}

func (f *faults) wrong(err error) {
	if n, due := f.wrongs.again(); due {
		f.c.log.Warn("[MCP] the server sent something wrong", "server", f.c.server, "error", err, "count", n)
	}
}

// noise logs lines of stdout.
func (f *faults) noise(line []byte) {
	if n, due := f.odds.again(); due {
		f.c.log.Warn("[MCP] the server wrote to stdout what is not MCP; skipped", "server", f.c.server,
			"line", jsonrpc.Printable(string(line), 200), "count", n)
	}
}

// seldom counts what may come without end, and says when to log it: the first of
// a connection, the 10th, the 100th and so on (fault E3).
type seldom struct{ n atomic.Uint64 }

func (s *seldom) again() (n uint64, due bool) {
	n = s.n.Add(1)
	rest := n
	for rest%10 == 0 {
		rest /= 10
	}
	return n, rest == 1
}

// traced is the application's trace, on goroutines of its own, with log lines for
// stdout noise.
func (c *Client) traced(told *faults) transport.Trace {
	t := c.cfg.trace
	t.Sent, t.Received = c.tracing("Trace.Sent", t.Sent), c.tracing("Trace.Received", t.Received)
	if stderr := t.Stderr; stderr != nil {
		t.Stderr = func(line string) { c.aside("Trace.Stderr", func() { stderr(line) }) }
	}
	if noise := c.tracing("Trace.Noise", t.Noise); noise != nil {
		t.Noise = func(line []byte) {
			told.noise(line)
			noise(line)
		}
	} else {
		t.Noise = told.noise
	}
	return t
}

func (c *Client) tracing(name string, f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	return func(text []byte) { c.aside(name, func() { f(text) }) }
}

// onRequest answers a request of the server. In the stateless era servers ask
// inside results: a request of theirs gets no answer (RPC-14).
func (c *Client) onRequest(req jsonrpc.Request) {
	from := c.live.Newest() // a program may ask as soon as it is opened, and before calls go to it
	switch {
	case c.probing.Load():
	case from != nil && from.Agreed.Era == mcp.EraStateless:
		c.log.Warn("[MCP] the server sent a request, which the revision does not have; dropped", "server", c.server,
			"method", jsonrpc.Printable(req.Method, 100))
	default:
		c.dispatcher().Request(from, req)
	}
}

// respond sends an answer. A server may ask as soon as the transport is open,
// a moment before Connect has got the connection in hand.
func (c *Client) respond(ctx context.Context, method string, resp jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	if !c.live.AwaitOpen(ctx) {
		return
	}
	with := c.live.Newest()
	if err := with.Conn.Respond(ctx, resp); err != nil {
		c.noteLoss(with, err)
		c.log.Warn("[MCP] a request of the server could not be answered", "server", c.server,
			"method", jsonrpc.Printable(method, 100), "error", err)
	}
}

func (c *Client) onNotification(n jsonrpc.Notification, on jsonrpc.ID) {
	if c.probing.Load() {
		return
	}
	if c.cfg.keepAlive > 0 {
		c.pulse.beats.Add(1)
	}
	switch {
	case n.Method == mcp.MethodProgress:
		c.progressTable().Notify(n)
		return
	case n.Method == mcp.MethodCancelled:
		if d := c.asks.peek(); d != nil {
			d.Cancelled(n)
		}
	case n.Method == mcp.MethodElicitationComplete:
		if d := c.asks.peek(); d != nil {
			d.ElicitationComplete(c.live.Agreed().Version, n)
		}
	case n.Method == mcp.MethodTasksStatus, n.Method == mcp.MethodTasks:
		if f := c.tasks.peek(); f != nil {
			f.Hint(n)
		}
	}
	// At once, not in its turn: a call that follows must not use what is known
	// to be stale (CHG-02).
	c.outdate(n)
	if c.tell(n, on) && c.cfg.handlers.Want(n.Method) {
		c.notifier().Notification(n)
	}
}
