package client

import (
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// How many notifications, and how many bytes of them, wait for a slow handler;
// the oldest go first (UTIL-09).
const (
	inboxSize  = 1024
	inboxBytes = 16 << 20
)

// inbox hands notifications and events to the application's handlers, in order,
// on one goroutine that is not the one that reads. The goroutine is there only
// while something waits: an idle client costs none.
type inbox struct {
	mu      sync.Mutex
	queue   []item
	bytes   int // of what is queued
	dropped int
	running bool
	stopped bool
}

type item struct {
	n jsonrpc.Notification
	// progress is the call a progress notification belongs to.
	progress *progressListener
	params   mcp.ProgressParams
	held     int // bytes of the message that params share the memory of
	// mark is set for the notice that OnListChanged is called for: one at a time
	// for each list, however many come (CHG-02).
	mark *atomic.Bool
	// inferred: nothing came, but something may have been missed.
	inferred bool
	// event is what happened to the connection.
	event Event
	bytes int // that it takes, from the budget too
}

// size is about what the item holds in memory.
func (it item) size() int {
	n := len(it.n.Params) + it.held
	if it.event != nil {
		n += footprint.Of(it.event)
	}
	return n
}

// drop says that nobody will see the item.
func (it item) drop() {
	if it.progress != nil {
		it.progress.settled()
	}
	if it.mark != nil {
		it.mark.Store(false)
	}
}

// put queues one item for the handlers of c; it never waits.
func (b *inbox) put(c *Client, it item) {
	b.mu.Lock()
	if b.stopped {
		b.mu.Unlock()
		it.drop()
		return
	}
	it.bytes = it.size()
	for len(b.queue) > 0 && (len(b.queue) >= inboxSize || b.bytes+it.bytes > inboxBytes) {
		b.take(c).drop()
		b.dropped++
	}
	if !c.budget.Take(it.bytes) {
		b.dropped++
		it.drop()
	} else {
		b.queue = append(b.queue, it)
		b.bytes += it.bytes
	}
	if !b.running {
		b.running = true
		c.work.Go(func() { b.run(c) }) // under the lock: not once stop has been called
	}
	b.mu.Unlock()
}

func (b *inbox) run(c *Client) {
	callback.InTurn(c.work.Go, func() bool {
		it, dropped, ok := b.next(c)
		if dropped > 0 {
			c.log.Warn("[MCP] notifications dropped: a handler is too slow", "server", c.server, "count", dropped)
		}
		if ok {
			c.deliver(it)
		}
		return ok
	})
}

func (b *inbox) next(c *Client) (it item, dropped int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped, b.dropped = b.dropped, 0
	if len(b.queue) == 0 {
		b.queue, b.running = nil, false
		return item{}, dropped, false
	}
	return b.take(c), dropped, true
}

// take removes the oldest item. Requires b.mu.
func (b *inbox) take(c *Client) item {
	it := b.queue[0]
	b.queue[0] = item{}
	b.queue = b.queue[1:]
	b.bytes -= it.bytes
	c.budget.Give(it.bytes)
	return it
}

func (b *inbox) stop(c *Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		b.stopped = true
		for _, it := range b.queue {
			it.drop()
		}
		c.budget.Give(b.bytes)
		b.queue, b.bytes = nil, 0
	}
}
