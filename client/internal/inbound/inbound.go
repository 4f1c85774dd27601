// Package inbound takes what a server sends on its own, requests and notifications,
// and brings each to whom it is for. Nothing here waits for the application.
package inbound

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// respondTimeout bounds sending a response.
const respondTimeout = 5 * time.Second

// Config is what an [Inbound] knows and what the layers above do for it. Every field
// but MaxTime is set.
type Config struct {
	// Links has the live link.
	Links *link.Holder
	// Server is the name of the server in the log.
	Server string
	Log    *slog.Logger
	Life   *life.Life
	// Budget bounds what waits for handlers.
	Budget *transport.Budget
	// Offer is what the client does for its server.
	Offer *ask.Offer
	// MaxTime bounds how long a request of the session era stays open; 0 is no bound.
	MaxTime time.Duration
	// Handlers are those of notifications.
	Handlers *Handlers

	// Event calls the handlers of an event.
	Event func(event any)
	// Failed reports a function of the application that panicked or ended its
	// goroutine.
	Failed func(*callback.Error)
	// CompileSchema returns what checks a value against a JSON Schema, nil for a
	// schema that cannot check anything.
	CompileSchema func(schema json.RawMessage) (check func(value json.RawMessage) error)
	// Completed reports that the user has finished what a URL elicitation asked for.
	Completed func(id string)

	// Outdate drops what the client keeps and a notification makes stale.
	Outdate func(n jsonrpc.Notification)
	// Hear hands a notification to subscriptions. on is the request on whose stream
	// it came, if any. Hear returns false for what must be dropped.
	Hear func(n jsonrpc.Notification, on jsonrpc.ID) bool
	// Task hands a notification to the task that it is about.
	Task func(n jsonrpc.Notification)
	// Dropped reports a request of the server that gets no answer. It does not wait.
	Dropped func(method string)
	// Lost reports an error that says that the session of a link is gone.
	Lost func(l *link.Link, err error)
}

// Inbound takes what one server sends. Its parts are made when they are needed. Its
// methods may be called from many goroutines at once.
type Inbound struct {
	set      Config
	notifier core.Lazy[Notifier]
	progress core.Lazy[ProgressTable]
	asks     core.Lazy[ask.Dispatcher]
}

// New returns an Inbound.
func New(set Config) *Inbound { return &Inbound{set: set} }

// Notifier returns what calls the application's handlers.
func (i *Inbound) Notifier() *Notifier {
	return i.notifier.Make(func() *Notifier {
		s := &i.set
		return newNotifier(notifierConfig{
			Handlers: s.Handlers, Event: s.Event, Server: s.Server, Log: s.Log, Life: s.Life, Budget: s.Budget,
			Failed: s.Failed,
		})
	})
}

// Progress returns the table of requests that asked for
func (i *Inbound) Progress() *ProgressTable {
	return i.progress.Make(func() *ProgressTable {
		s := &i.set
		return newProgress(progressConfig{
			Server: s.Server, Log: s.Log, Budget: s.Budget, Go: s.Life.Always, Failed: s.Failed,
			Touch: func(id jsonrpc.ID) { s.Links.Load().Conn.Touch(id) },
		})
	})
}

// Asks returns what answers the server's questions.
func (i *Inbound) Asks() *ask.Dispatcher {
	return i.asks.Make(func() *ask.Dispatcher {
		s := &i.set
		return ask.New(ask.Config{
			Offer: s.Offer, Server: s.Server, MaxTime: s.MaxTime, Log: s.Log, Life: s.Life, Budget: s.Budget,
			Respond: i.respond, Failed: s.Failed,
			CompileSchema: s.CompileSchema, Completed: s.Completed,
		})
	})
}

// LinkEnded ends the handlers of requests that came over a link which is lost.
func (i *Inbound) LinkEnded() {
	if d := i.asks.Peek(); d != nil {
		d.LinkEnded()
	}
}

// Request answers a request of the server. In the stateless era servers ask inside
// results: a request of theirs gets no answer (RPC-14). Over a byte stream ping is the
// exception: servers exist that end the connection without the answer. ctx has the values
// of the call on whose stream the request came, if any.
func (i *Inbound) Request(ctx context.Context, req ask.Incoming) {
	from := i.set.Links.Newest() // a program may ask as soon as it is opened, and before calls go to it
	if from != nil && from.Agreed.Era == mcp.EraStateless && !answersPing(from, req) {
		i.drop(req)
		return
	}
	i.Asks().Request(ctx, from, req)
}

// Early is [Inbound.Request] while the era of the server is not known. Both eras have
// servers that wait for the answer to a ping before they answer anything.
func (i *Inbound) Early(ctx context.Context, req ask.Incoming) {
	if from := i.set.Links.Newest(); answersPing(from, req) {
		i.Asks().Request(ctx, from, req)
		return
	}
	i.drop(req)
}

// answersPing reports whether a request is a ping over a byte stream. from is nil for a
// program that asks before its link is ready.
func answersPing(from *link.Link, req ask.Incoming) bool {
	return req.Method == mcp.MethodPing && (from == nil || !from.Traits.Exchanges)
}

// drop drops a request, which gets no answer.
func (i *Inbound) drop(req ask.Incoming) {
	method := jsonrpc.Printable(req.Method, 100)
	i.set.Log.Warn("[MCP] the server sent a request that the era does not allow; dropped", "server", i.set.Server, "method", method)
	i.set.Links.Drops().Note(method)
	i.set.Dropped(method)
}

// respond sends an answer. A server may ask as soon as the transport is open, a
// moment before the client has the connection.
func (i *Inbound) respond(ctx context.Context, to ask.Incoming, resp jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(ctx, respondTimeout)
	defer cancel()
	if !i.set.Links.AwaitOpen(ctx) {
		return
	}
	with := i.set.Links.Newest()
	if err := with.Respond(ctx, resp, to.Caller); err != nil {
		i.set.Lost(with, err)
		i.set.Log.Warn("[MCP] a request of the server could not be answered", "server", i.set.Server,
			"method", jsonrpc.Printable(to.Method, 100), "error", err)
	}
}

// Notification takes a notification. on is the request on whose stream it came, if
// any.
func (i *Inbound) Notification(n jsonrpc.Notification, on jsonrpc.ID) {
	switch n.Method {
	case mcp.MethodProgress:
		i.Progress().Notify(n)
		return
	case mcp.MethodCancelled:
		if d := i.asks.Peek(); d != nil {
			d.Cancelled(n)
		}
	case mcp.MethodElicitationComplete:
		if d := i.asks.Peek(); d != nil {
			d.ElicitationComplete(i.set.Links.Agreed().Version, n)
		}
	case mcp.MethodTasksStatus, mcp.MethodTasks:
		i.set.Task(n)
	}
	// At once, not in its turn: a call that follows must not use what is known to be
	// stale (CHG-02).
	i.set.Outdate(n)
	if i.set.Hear(n, on) && i.set.Handlers.Want(n.Method) {
		i.Notifier().Notification(n)
	}
}
