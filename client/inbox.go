package client

import (
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/inbox"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// handlers is the queue before the application's handlers.
func (c *Client) handlers() *inbox.Queue[item] {
	return c.inbox.made(func() *inbox.Queue[item] {
		return inbox.New(inbox.Host[item]{
			Budget: &c.budget, Go: c.work.Go, Deliver: c.deliver,
			Dropped: func(count int) {
				c.log.Warn("[MCP] notifications dropped: a handler is too slow", "server", c.server, "count", count)
			},
		})
	})
}

// item is a notification or an event on its way to handlers.
type item struct {
	n jsonrpc.Notification
	// mark is set for the notice that OnListChanged is called for: one at a time
	// for each list, however many come (CHG-02).
	mark *atomic.Bool
	// inferred: nothing came, but something may have been missed.
	inferred bool
	// event is what happened to the connection.
	event Event
}

// Size implements [inbox.Item].
func (it item) Size() int {
	n := len(it.n.Params)
	if it.event != nil {
		n += footprint.Of(it.event)
	}
	return n
}

// Drop implements [inbox.Item].
func (it item) Drop() {
	if it.mark != nil {
		it.mark.Store(false)
	}
}
