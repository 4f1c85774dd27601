// Package inbound receives the requests and notifications that a server sends on its own, and
// dispatches them. Nothing in it waits for the application.
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

// respondTimeout limits sending a response.
const respondTimeout = 5 * time.Second

// Config configures an [Inbound].
type Config struct {
	// Asks configures the answers to the server's requests.
	Asks ask.Config
	// Handlers are the handlers of notifications.
	Handlers *Handlers
}

// Client has the functions of the client that messages of the server trigger.
type Client interface {
	// Outdate drops cached values that a notification makes stale.
	Outdate(n jsonrpc.Notification)
	// Hear passes a notification to subscriptions. on is the request on whose stream it came, if
	// any. Hear returns false for a notification that must be dropped.
	Hear(n jsonrpc.Notification, on jsonrpc.ID) bool
	// TaskChanged passes on a notification about a task.
	TaskChanged(n jsonrpc.Notification)
	// NoteLoss records an error that may mean that the session of a link is lost.
	NoteLoss(l *link.Link, err error)
}

// Inbound receives the messages of one server. Its parts are created on first use. Its methods
// may be called from many goroutines at once.
type Inbound struct {
	*core.Core
	client   Client
	set      Config
	notifier core.Lazy[Notifier]
	progress core.Lazy[ProgressTable]
	asks     core.Lazy[ask.Dispatcher]
}

// New returns an Inbound.
func New(c *core.Core, client Client, set Config) *Inbound {
	return &Inbound{Core: c, client: client, set: set}
}

// Notifier returns the caller of the application's handlers.
func (i *Inbound) Notifier() *Notifier {
	return i.notifier.Make(func() *Notifier { return newNotifier(i.Core, i.set.Handlers) })
}

// Progress returns the table of requests that asked for progress.
func (i *Inbound) Progress() *ProgressTable {
	return i.progress.Make(func() *ProgressTable { return &ProgressTable{Core: i.Core} })
}

// Asks returns the dispatcher of the server's requests.
func (i *Inbound) Asks() *ask.Dispatcher {
	return i.asks.Make(func() *ask.Dispatcher { return ask.New(i.Core, i.set.Asks, i.respond) })
}

// AwaitHandlers is [Notifier.Await]. A nil Inbound has received nothing.
func (i *Inbound) AwaitHandlers(ctx context.Context) {
	if i != nil {
		i.notifier.Peek().Await(ctx)
	}
}

// LinkEnded cancels the handlers of requests that came over a lost link.
func (i *Inbound) LinkEnded() {
	if d := i.asks.Peek(); d != nil {
		d.LinkEnded()
	}
}

// Request answers a request of the server. In the stateless era servers ask inside results, and a
// request is dropped. The exception is ping over a byte stream: some servers end the connection
// if it is not answered. ctx has the values of the call on whose stream the request came, if any.
func (i *Inbound) Request(ctx context.Context, req ask.Incoming) {
	from := i.Links.Newest() // a program may send a request before calls use the link
	if from != nil && from.Agreed.Era == mcp.EraStateless && !answersPing(from, req) {
		i.drop(req)
		return
	}
	i.Asks().Request(ctx, from, req)
}

// Early is [Inbound.Request] while the era of the server is not known. Both eras have servers
// that wait for the answer to a ping before they answer anything.
func (i *Inbound) Early(ctx context.Context, req ask.Incoming) {
	if from := i.Links.Newest(); answersPing(from, req) {
		i.Asks().Request(ctx, from, req)
		return
	}
	i.drop(req)
}

// answersPing reports whether a request is a ping over a byte stream. from is nil if the program
// sent the request before its link was ready.
func answersPing(from *link.Link, req ask.Incoming) bool {
	return req.Method == mcp.MethodPing && (from == nil || !from.Traits.Exchanges)
}

// drop drops a request without an answer.
func (i *Inbound) drop(req ask.Incoming) {
	method := jsonrpc.Printable(req.Method, 100)
	i.Log.Warn("[MCP] the server sent a request that the era does not allow; dropped", "server", i.Server, "method", method)
	i.Links.Drops().Note(method)
	i.Emit(event.RequestDropped{Method: method})
}

// respond sends a response. A server may send a request as soon as the transport is open, just
// before the client has the connection.
func (i *Inbound) respond(ctx context.Context, to ask.Incoming, resp jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(ctx, respondTimeout)
	defer cancel()
	if !i.Links.AwaitOpen(ctx) {
		return
	}
	with := i.Links.Newest()
	if err := with.Respond(ctx, resp, to.Caller); err != nil {
		i.client.NoteLoss(with, err)
		i.Log.Warn("[MCP] a request of the server could not be answered", "server", i.Server,
			"method", jsonrpc.Printable(to.Method, 100), "error", err)
	}
}

// Notification receives a notification. on is the request on whose stream it came, if any, and
// ctx has the values of the call of that request.
func (i *Inbound) Notification(ctx context.Context, n jsonrpc.Notification, on jsonrpc.ID) {
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
			d.ElicitationComplete(i.Links.Agreed().Version, n)
		}
	case mcp.MethodTasksStatus, mcp.MethodTasks:
		i.client.TaskChanged(n)
	}
	// This is not queued: a call that follows must not use stale values.
	i.client.Outdate(n)
	if i.client.Hear(n, on) && i.set.Handlers.Want(n.Method) {
		i.Notifier().Notification(ctx, n)
	}
}
