package client

import (
	"context"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// inboxSize is how many notifications wait for a slow handler; the oldest go
// first (UTIL-09).
const inboxSize = 1024

// inbox hands notifications to the application's handlers, in order, on one
// goroutine that is not the one that reads.
type inbox struct {
	c    *Client
	wake chan struct{} // capacity 1
	quit chan struct{}

	mu      sync.Mutex
	queue   []item
	dropped int
	stopped bool
}

type item struct {
	n jsonrpc.Notification
	// progress is the call a progress notification belongs to.
	progress *progressCall
	params   mcp.ProgressParams
}

// drop says that nobody will see the item.
func (it item) drop() {
	if it.progress != nil {
		it.progress.settled()
	}
}

func newInbox(c *Client) *inbox {
	return &inbox{c: c, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

// put queues one item; it never waits.
func (b *inbox) put(it item) {
	b.mu.Lock()
	if b.stopped {
		b.mu.Unlock()
		it.drop()
		return
	}
	var oldest item
	if len(b.queue) == inboxSize {
		oldest, b.queue = b.queue[0], b.queue[1:]
		b.dropped++
	}
	b.queue = append(b.queue, it)
	b.mu.Unlock()
	oldest.drop()
	select {
	case b.wake <- struct{}{}:
	default: // it will look
	}
}

func (b *inbox) run() {
	for {
		select {
		case <-b.quit:
			return
		case <-b.wake:
		}
		for {
			it, dropped, ok := b.next()
			if dropped > 0 {
				b.c.log.Warn("[MCP] notifications dropped: a handler is too slow", "server", b.c.server, "count", dropped)
			}
			if !ok {
				break
			}
			b.c.deliver(it)
		}
	}
}

func (b *inbox) next() (it item, dropped int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped, b.dropped = b.dropped, 0
	if len(b.queue) == 0 {
		b.queue = nil
		return item{}, dropped, false
	}
	it, b.queue = b.queue[0], b.queue[1:]
	return it, dropped, true
}

func (b *inbox) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopped {
		b.stopped = true
		for _, it := range b.queue {
			it.drop()
		}
		b.queue = nil
		close(b.quit)
	}
}

// handler is what the transport hands to: it returns at once, always.
func (c *Client) handler() transport.Handler {
	return transport.Handler{
		OnRequest:      c.onRequest,
		OnNotification: c.onNotification,
		OnFault: func(err error) {
			c.log.Warn("[MCP] the server sent something wrong", "server", c.server, "error", err)
		},
		Trace: c.traced(),
	}
}

// traced adds a log line for stdout noise to the application's trace.
func (c *Client) traced() transport.Trace {
	t := c.cfg.trace
	noise := t.Noise
	t.Noise = func(line []byte) {
		c.log.Warn("[MCP] the server wrote to stdout what is not MCP; skipped", "server", c.server,
			"line", jsonrpc.Printable(string(line), 200))
		if noise != nil {
			noise(line)
		}
	}
	return t
}

// onRequest answers what a server may ask. Ping is answered in any phase and
// before everything that waits for handlers (UTIL-01); the rest is not offered
// (RPC-13).
func (c *Client) onRequest(req jsonrpc.Request) {
	resp := jsonrpc.Response{ID: req.ID}
	if req.Method == mcp.MethodPing {
		resp.Result = []byte(`{}`)
	} else {
		resp.Error = jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+req.Method, nil)
	}
	if c.answering.Add(1) > maxAnswering {
		c.answering.Add(-1)
		c.log.Warn("[MCP] the server asks faster than it takes answers; a request is not answered", "server", c.server)
		return
	}
	c.behind(func(ctx context.Context) {
		defer c.answering.Add(-1)
		c.respond(ctx, req.Method, resp)
	})
}

// maxAnswering bounds the requests of the server that are being answered.
const maxAnswering = 100

// respond sends an answer. A server may ask as soon as the transport is open,
// a moment before Connect has got the connection in hand.
func (c *Client) respond(ctx context.Context, method string, resp jsonrpc.Response) {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	select {
	case <-c.connected:
	case <-ctx.Done():
		return
	}
	if err := c.conn.Respond(ctx, resp); err != nil {
		c.log.Warn("[MCP] a request of the server could not be answered", "server", c.server,
			"method", jsonrpc.Printable(method, 100), "error", err)
	}
}

func (c *Client) onNotification(n jsonrpc.Notification, _ jsonrpc.ID) {
	switch {
	case n.Method == mcp.MethodProgress:
		c.onProgress(n)
		return
	case n.Method == mcp.MethodToolsListChanged:
		// At once, not in its turn: a call that follows must not use what is
		// known to be stale (CHG-02).
		c.cfg.cache.Invalidate(c.cacheKey)
	}
	if c.wanted(n.Method) {
		c.inbox.put(item{n: n})
	}
}

func listChanged(method string) bool { return strings.HasSuffix(method, "/list_changed") }

// wanted keeps what no handler is for out of the inbox.
func (c *Client) wanted(method string) bool {
	return c.cfg.onNotification != nil ||
		(c.cfg.onLog != nil && method == mcp.MethodMessage) ||
		(c.cfg.onListChanged != nil && listChanged(method))
}

// deliver runs the handlers for one item.
func (c *Client) deliver(it item) {
	if it.progress != nil {
		it.progress.deliver(it.params)
		return
	}
	if c.cfg.onLog != nil && it.n.Method == mcp.MethodMessage {
		var m mcp.LoggingMessageParams
		if err := mcp.Unmarshal([]byte(it.n.Params), &m); err != nil {
			c.log.Warn("[MCP] a log message of the server cannot be read", "server", c.server, "error", err)
		} else {
			c.cfg.onLog(c.life, m)
		}
	}
	if c.cfg.onListChanged != nil && listChanged(it.n.Method) {
		c.cfg.onListChanged(c.life, it.n.Method)
	}
	if c.cfg.onNotification != nil {
		c.cfg.onNotification(c.life, it.n)
	}
}
