// Package inbound takes what a server sends on its own, requests and notifications,
// and brings each to whom it is for. Nothing here waits for the application.
package inbound

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// respondTimeout bounds sending a response.
const respondTimeout = 5 * time.Second

// Config is what an [Inbound] knows and what the layers above do for it. Every field
// but MaxTime is set.
type Config struct {
	*core.Core
	// Offer is what the client does for its server.
	Offer *ask.Offer
	// MaxTime bounds how long a request of the session era stays open; 0 is no bound.
	MaxTime time.Duration
	// Handlers are those of notifications.
	Handlers *Handlers

	Client Client
}

// Client has the parts of a client that messages of the server are for.
type Client interface {
	// Outdate drops cached values that a notification makes stale.
	Outdate(n jsonrpc.Notification)
	// Hear hands a notification to subscriptions. on is the request on whose stream it
	// came, if any. Hear returns false for a notification that must be dropped.
	Hear(n jsonrpc.Notification, on jsonrpc.ID) bool
	// TaskChanged hands a notification to the task that it is about.
	TaskChanged(n jsonrpc.Notification)
	// NoteLoss reports an error that may say that the session of a link is gone.
	NoteLoss(l *link.Link, err error)
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
			Core: s.Core, Handlers: s.Handlers,
		})
	})
}

// Progress returns the table of requests that asked for
func (i *Inbound) Progress() *ProgressTable {
	return i.progress.Make(func() *ProgressTable {
		s := &i.set
		return &ProgressTable{Core: s.Core}
	})
}

// Asks returns what answers the server's questions.
func (i *Inbound) Asks() *ask.Dispatcher {
	return i.asks.Make(func() *ask.Dispatcher {
		s := &i.set
		return ask.New(ask.Config{
			Core: s.Core, Offer: s.Offer, MaxTime: s.MaxTime, Respond: i.respond,
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
// results: a request of theirs gets no answer. Over a byte stream ping is the
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
	i.set.Emit(event.RequestDropped{Method: method})
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
		i.set.Client.NoteLoss(with, err)
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
		i.set.Client.TaskChanged(n)
	}
	// At once, not in its turn: a call that follows must not use what is known to be
	// stale.
	i.set.Client.Outdate(n)
	if i.set.Client.Hear(n, on) && i.set.Handlers.Want(n.Method) {
		i.Notifier().Notification(n)
	}
}
