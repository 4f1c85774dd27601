package watch

import (
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Concerns reports whether notifications of a method are for subscriptions.
func Concerns(method string) bool {
	switch method {
	case mcp.MethodSubscriptionsAcknowledged, mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged,
		mcp.MethodResourcesListChanged, mcp.MethodResourcesUpdated, mcp.MethodTasks, mcp.MethodCancelled:
		return true
	}
	return false
}

// Hear passes a notification that [Concerns] subscriptions to the right ones. on is the request
// on whose stream it came, if any. Hear returns false for a notification that must be dropped. It
// never blocks.
func (w *Watcher) Hear(n jsonrpc.Notification, on jsonrpc.ID) bool {
	if w.agreed().Era == mcp.EraStateless {
		return w.hearStream(n, on)
	}
	// Servers send list changes without a subscription.
	if ch, ok := changeOf(n); ok {
		for _, s := range w.all() {
			if covers(s.Accepted(), ch) {
				s.offer(ch)
			}
		}
	}
	return true
}

// hearStream dispatches a notification of the stateless era: by its stream over HTTP, otherwise
// by the subscription id in it.
func (w *Watcher) hearStream(n jsonrpc.Notification, on jsonrpc.ID) bool {
	if n.Method == mcp.MethodCancelled {
		// The server ends a subscription; it cannot cancel anything else.
		var params mcp.CancelledParams
		if params.UnmarshalJSON(n.Params) == nil {
			if l := w.streamOf(params.RequestID); l != nil {
				l.cancel(ErrServerEnds)
			}
		}
		return true
	}
	named := subscriptionID(n)
	if on.IsZero() {
		l := w.streamOf(named)
		if l == nil {
			if !w.strayed.Swap(true) { // the subscription may just have ended
				w.Log.Warn("[MCP] a notification that belongs to no subscription was dropped", "server", w.Server, "method", n.Method)
			}
			return false
		}
		l.hear(n)
		return true
	}
	if l := w.streamOf(on); l != nil { // otherwise it came on the stream of a call
		if named != on {
			l.warned.Do(func() {
				w.Log.Warn("[MCP] a notification does not name the subscription of its stream", "server", w.Server, "method", n.Method)
			})
		}
		l.hear(n)
	}
	return true
}

func (w *Watcher) streamOf(id jsonrpc.ID) *stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streams[id]
}

// subscriptionID returns the subscription id in a notification, zero for none.
func subscriptionID(n jsonrpc.Notification) jsonrpc.ID {
	var id jsonrpc.ID
	_ = jsonrpc.Members(n.Params, func(name, value []byte) bool {
		if string(name) != "_meta" {
			return true
		}
		if raw, ok := mcp.MetaValue(value, mcp.MetaSubscriptionID); ok {
			_ = id.UnmarshalJSON(raw) // an invalid id means none
		}
		return false
	})
	return id
}
