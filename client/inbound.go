package client

import (
	"context"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// inbound returns the part that handles messages that the server sends on its own. It is
// created when it is first used.
func (c *Client) inbound() *inbound.Inbound {
	return c.incoming.Make(func() *inbound.Inbound {
		return inbound.New(&c.core, (*receiver)(c), inbound.Config{
			Asks: ask.Config{Offer: &c.cfg.offer, OpenTime: c.calls.Set.Wait.Max}, Handlers: &c.cfg.handlers,
		})
	})
}

// receiver is the part of the client that package inbound uses.
type receiver Client

// Outdate implements [inbound.Client].
func (r *receiver) Outdate(n jsonrpc.Notification) {
	if lists.Notifies(n.Method) {
		(*Client)(r).lists().Changed(n)
	}
}

// Hear implements [inbound.Client].
func (r *receiver) Hear(n jsonrpc.Notification, on jsonrpc.ID) bool {
	if !watch.Concerns(n.Method) || r.subscriptions.Peek() == nil && r.core.Links.Agreed().Era != mcp.EraStateless {
		return true
	}
	return (*Client)(r).watcher().Hear(n, on)
}

// TaskChanged implements [inbound.Client].
func (r *receiver) TaskChanged(n jsonrpc.Notification) {
	if f := r.tasks.Peek(); f != nil {
		f.Hint(n)
	}
}

// NoteLoss implements [inbound.Client].
func (r *receiver) NoteLoss(l *link.Link, err error) { r.calls.Keeper.NoteLoss(l, err) }

// handler returns the functions that the transport calls. None of them blocks.
func (c *Client) handler() transport.Handler {
	f := &faults{c: c}
	return transport.Handler{
		OnRequest: func(ctx context.Context, req jsonrpc.Request, who *transport.Caller) {
			if n := c.finding.Load(); n != nil {
				n.Requested(req.Method)
			}
			if c.probing.Load() {
				c.inbound().Early(ctx, ask.Incoming{Request: req, Caller: who})
				return
			}
			c.inbound().Request(ctx, ask.Incoming{Request: req, Caller: who})
		},
		OnNotification: func(ctx context.Context, n jsonrpc.Notification, on jsonrpc.ID) {
			if c.probing.Load() {
				return
			}
			if c.calls.Set.Beats {
				c.calls.Beat()
			}
			c.inbound().Notification(ctx, n, on)
		},
		OnFault:       f.wrong,
		OnSessionLost: func() { c.calls.Keeper.Persist(c.core.Links.Load()) },
		OnGap:         func() { c.watcher().Interrupted() },
		OnCallbackFailed: func(name string, value any, stack []byte) {
			c.callbackFailed(&callback.Error{Name: name, Value: value, Stack: stack})
		},
		Budget: &c.core.Budget,
		Trace:  f.trace(c.cfg.trace),
	}
}

// faults logs input of a connection that is not MCP.
type faults struct {
	c            *Client
	wrongs, odds seldom
}

func (f *faults) wrong(err error) {
	if n, due := f.wrongs.again(); due {
		f.c.core.Log.Warn("[MCP] invalid message from the server", "server", f.c.core.Server, "error", err, "count", n)
	}
}

// noise logs lines of stdout.
func (f *faults) noise(line []byte) {
	if n, due := f.odds.again(); due {
		f.c.core.Log.Warn("[MCP] skipped a line on the server's stdout that is not MCP", "server", f.c.core.Server,
			"line", jsonrpc.Printable(string(line), 200), "count", n)
	}
}

// seldom counts something that may come without end, and reports when to log it: the first
// time, the 10th, the 100th and so on.
type seldom struct{ n atomic.Uint64 }

func (s *seldom) again() (n uint64, due bool) {
	n = s.n.Add(1)
	rest := n
	for rest%10 == 0 {
		rest /= 10
	}
	return n, rest == 1
}

// trace returns t with each of its functions on a goroutine of its own. It also logs noise
// on stdout.
func (f *faults) trace(t transport.Trace) transport.Trace {
	aside := func(name string, see func([]byte)) func([]byte) {
		if see == nil {
			return nil
		}
		return func(text []byte) { callback.Aside(name, f.c.callbackFailed, func() { see(text) }) }
	}
	t.Sent, t.Received = aside("Trace.Sent", t.Sent), aside("Trace.Received", t.Received)
	if stderr := t.Stderr; stderr != nil {
		t.Stderr = func(line string) { callback.Aside("Trace.Stderr", f.c.callbackFailed, func() { stderr(line) }) }
	}
	if exited := t.Exited; exited != nil {
		t.Exited = func() { callback.Aside("Trace.Exited", f.c.callbackFailed, exited) }
	}
	if noise := aside("Trace.Noise", t.Noise); noise != nil {
		t.Noise = func(line []byte) {
			f.noise(line)
			noise(line)
		}
	} else {
		t.Noise = f.noise
	}
	return t
}
