package inbound

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Handlers are the callbacks of the application. All may be nil.
type Handlers struct {
	Notification func(context.Context, jsonrpc.Notification)
	Log          func(context.Context, mcp.LoggingMessageParams)
	ListChanged  func(ctx context.Context, method string)
	Event        []func(context.Context, event.Event)
}

// Want reports whether there is a handler for a method.
func (h *Handlers) Want(method string) bool {
	return h.Notification != nil || h.Log != nil && method == mcp.MethodMessage || h.ListChanged != nil && isListChanged(method)
}

// Any reports whether there is a handler.
func (h *Handlers) Any() bool { return h.Notification != nil || h.Log != nil || h.ListChanged != nil }

// isListChanged reports whether a method is that of a notification about a changed list.
func isListChanged(method string) bool { return strings.HasSuffix(method, "/list_changed") }

// Notifier calls handlers. Its methods may be called from many goroutines at once, and never
// block.
type Notifier struct {
	*core.Core
	handlers *Handlers
	queue    *inbox.Queue[item]
	// waiting has the lists with a queued notification for ListChanged.
	waiting struct{ tools, prompts, resources atomic.Bool }
}

// newNotifier returns a notifier.
func newNotifier(c *core.Core, handlers *Handlers) *Notifier {
	n := &Notifier{Core: c, handlers: handlers}
	n.queue = inbox.New(inbox.Host[item]{
		Budget: &c.Budget, Go: c.Life.Always, Deliver: n.deliver,
		Dropped: func(count int) {
			c.Log.Warn("[MCP] notifications dropped: a handler is too slow", "server", c.Server, "count", count)
		},
	})
	return n
}

// Stop drops all queued items, and all later ones.
func (n *Notifier) Stop() { n.queue.Stop() }

// handlerTime limits how long Await waits for slow handlers.
const handlerTime = time.Second

// Await waits until handlers have had all notifications that came before, for one second at most.
// A nil Notifier has none.
func (n *Notifier) Await(ctx context.Context) {
	if n == nil || !n.queue.Busy() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()
	n.queue.Await(ctx.Done())
}

// Event queues an event.
func (n *Notifier) Event(e event.Event) { n.queue.Put(item{event: e}) }

// Notification queues a notification. Handlers get the values of ctx. ListChanged is not queued
// again for a list that is already queued.
func (n *Notifier) Notification(ctx context.Context, notification jsonrpc.Notification) {
	it := item{notification: notification, values: ctx}
	if n.handlers.ListChanged != nil && isListChanged(notification.Method) {
		mark := n.mark(notification.Method)
		switch first := !mark.Swap(true); {
		case first:
			it.mark = mark
		case n.handlers.Notification == nil:
			return
		}
	}
	n.queue.Put(it)
}

// Unheard queues ListChanged for lists whose notifications may have been missed.
func (n *Notifier) Unheard(lists mcp.SubscriptionFilter) {
	if n.handlers.ListChanged == nil {
		return
	}
	for _, list := range []struct {
		method string
		on     bool
	}{
		{mcp.MethodToolsListChanged, lists.ToolsListChanged},
		{mcp.MethodPromptsListChanged, lists.PromptsListChanged},
		{mcp.MethodResourcesListChanged, lists.ResourcesListChanged},
	} {
		if mark := n.mark(list.method); list.on && !mark.Swap(true) {
			n.queue.Put(item{notification: jsonrpc.Notification{Method: list.method}, mark: mark, inferred: true})
		}
	}
}

func (n *Notifier) mark(method string) *atomic.Bool {
	switch method {
	case mcp.MethodToolsListChanged:
		return &n.waiting.tools
	case mcp.MethodPromptsListChanged:
		return &n.waiting.prompts
	case mcp.MethodResourcesListChanged:
		return &n.waiting.resources
	}
	return new(atomic.Bool) // a list of the server's own
}

// deliver calls the handlers of one item. They are deferred, so the others run if one calls
// runtime.Goexit.
func (n *Notifier) deliver(it item) {
	if it.event != nil {
		n.report(it.event, n.handlers.Event)
		return
	}
	h, ctx, failed := n.handlers, n.Life.Context(), n.Failed
	if it.values != nil {
		ctx = n.Life.Values(it.values)
	}
	if h.Notification != nil && !it.inferred {
		defer callback.Run("OnNotification", failed, func() { h.Notification(ctx, it.notification) })
	}
	if it.mark != nil {
		it.mark.Store(false)
		defer callback.Run("OnListChanged", failed, func() { h.ListChanged(ctx, it.notification.Method) })
	}
	if h.Log != nil && it.notification.Method == mcp.MethodMessage {
		var m mcp.LoggingMessageParams
		if err := mcp.Unmarshal([]byte(it.notification.Params), &m); err != nil {
			n.Log.Warn("[MCP] a log message of the server cannot be read", "server", n.Server, "error", err)
			return
		}
		callback.Run("OnLog", failed, func() { h.Log(ctx, m) })
	}
}

// item is a queued notification or event.
type item struct {
	notification jsonrpc.Notification
	values       context.Context // of the call that it belongs to; nil for none
	// mark is set if ListChanged is called for the notification: one call is queued per list.
	mark *atomic.Bool
	// inferred is set if no notification arrived, but one may have been missed.
	inferred bool
	// event is the event, nil for a notification.
	event event.Event
}

// Size implements [inbox.Item].
func (it item) Size() int {
	size := len(it.notification.Params)
	if it.event != nil {
		size += footprint.Of(it.event)
	}
	return size
}

// Drop implements [inbox.Item].
func (it item) Drop() {
	if it.mark != nil {
		it.mark.Store(false)
	}
}

// report calls the handlers of an event. The others run if one calls runtime.Goexit.
func (n *Notifier) report(e event.Event, to []func(context.Context, event.Event)) {
	if len(to) == 0 {
		return
	}
	failed := n.Failed
	if e, ok := e.(event.CallbackFailed); ok && e.Callback == callback.LogHandler {
		failed = nil // the failing log handler would cause the same event forever
	}
	defer n.report(e, to[1:])
	callback.Run("OnEvent", failed, func() { to[0](n.Life.Context(), e) })
}
