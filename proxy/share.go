package proxy

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithSharedServer states that one server may serve all hosts: they share one program, or one
// session of a URL, of each [Target]. By default, each session host has a server of its own.
//
// The server then gets no capabilities of clients, and can ask no host for anything. What it
// sends during a call goes to the host of that call, if the connection tells. Subscriptions are
// those of each host. All hosts get log messages that belong to no call, from the level on that
// each has set. The server has the lowest of these levels.
func WithSharedServer() Option { return func(s *settings) { s.share = true } }

// common is a server that hosts share. Each host has an [upstream] of its own for it, with the
// same client.
type common struct {
	settings
	target Target
	name   string // of the server in a group
	ctx    context.Context
	end    context.CancelCauseFunc
	work   sync.WaitGroup
	levels commonLevels

	mu    sync.Mutex
	conn  *connection // nil before the first host
	hosts map[*upstream]struct{}
}

// shared returns the server for all hosts of a proxy, and what ends it after them.
func (s settings) shared(ctx context.Context, to Server) (Server, func()) {
	if !s.share {
		return to, func() {}
	}
	var all []*common
	add := func(to Target, name string) *common {
		c := &common{settings: s, target: to, name: name, hosts: map[*upstream]struct{}{}}
		c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
		c.levels.init()
		all = append(all, c)
		return c
	}
	switch t := to.(type) {
	case Target:
		to = add(t, "")
	case servers:
		own := make(servers, len(t))
		for i, from := range t {
			own[i], own[i].shared = from, add(from.Target, from.Name)
		}
		to = own
	}
	return to, func() {
		var closing sync.WaitGroup
		for _, c := range all {
			closing.Go(c.close)
		}
		closing.Wait()
	}
}

// open implements [Server].
func (c *common) open(side *hostSide) (backend, error) {
	up := newUpstream(side.host.ctx, side, source{shared: c}, side.host.work.Go)
	return up, up.cached.init(side, side.host.identity)
}

// join adds a host and returns the client.
func (c *common) join(ctx context.Context, up *upstream) (*client.Client, error) {
	c.mu.Lock()
	if c.conn != nil && c.conn.isConnected() && isDone(c.conn.client) {
		c.work.Go(c.conn.close)
		c.conn = nil
	}
	if c.conn == nil {
		made := newConnection(c.ctx, c.work.Go, c.dial)
		made.hasty = c.name != "" // members of a group try again
		made.settled = func(ctx context.Context) { c.levels.restore(ctx, made.client, c.log) }
		c.conn = made
	}
	conn := c.conn
	c.mu.Unlock()
	if err := conn.connected(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[up] = struct{}{}
	return conn.client, nil
}

// isDone reports whether a client has ended for good.
func isDone(c *client.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func (c *common) dial(ctx context.Context) (*client.Client, error) {
	opts := append(c.clientOptions(""), client.OnNotification(c.notified), client.OnEvent(c.observed))
	if c.name != "" {
		opts = append(opts, client.WithName(c.name))
	}
	return c.target(c.withOwnHeaders(ctx, nil), opts...)
}

// leave removes a host. Its calls have ended.
func (c *common) leave(up *upstream) {
	c.mu.Lock()
	_, joined := c.hosts[up]
	delete(c.hosts, up)
	c.mu.Unlock()
	if joined {
		c.work.Go(func() { c.levels.forget(c.ctx, up) })
	}
}

// close ends the server after its hosts.
func (c *common) close() {
	c.end(errHostGone)
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.close()
	}
	c.work.Wait()
}

// notified passes a notification of the server to the hosts that it concerns.
func (c *common) notified(ctx context.Context, n jsonrpc.Notification) {
	of, _ := ctx.Value(requestKey{}).(*request)
	switch n.Method {
	case mcp.MethodResourcesUpdated, // subscriptions bring it
		mcp.MethodElicitationComplete: // nobody was asked
		return
	case mcp.MethodTasksStatus:
		if of == nil {
			return // the ids of tasks are for their hosts only
		}
	case mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged:
		of = nil // also if it came during a call
	}
	c.each(func(up *upstream) {
		if of == nil || of.host == up.host && of.version == up.version {
			up.inbox.Put(message{n: n, of: of})
		}
	})
}

// observed passes an event to all hosts.
func (c *common) observed(ctx context.Context, e client.Event) {
	c.each(func(up *upstream) { up.inbox.Put(message{event: e}) })
}

func (c *common) each(f func(*upstream)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for up := range c.hosts {
		f(up)
	}
}

// message is what waits for a host of a shared server: a host that reads slowly must not delay
// the others.
type message struct {
	n     jsonrpc.Notification
	of    *request // of the host, nil for none
	event client.Event
}

// Size implements [inbox.Item].
func (m message) Size() int { return len(m.n.Params) }

// Drop implements [inbox.Item].
func (message) Drop() {}

// sharing is what an upstream needs for a shared server.
type sharing struct {
	shared *common // nil for a server of its own
	inbox  *inbox.Queue[message]
	budget transport.Budget
	work   sync.WaitGroup
}

// share makes up one of the hosts of a server.
func (up *upstream) share(c *common) {
	up.shared = c
	up.logs.common = &c.levels
	up.inbox = inbox.New(inbox.Host[message]{
		Budget: &up.budget, Go: up.sharing.work.Go, Deliver: up.deliver,
		Dropped: func(count int) {
			up.host.log.Warn("[MCP] notifications did not reach the host: it reads too slowly", "count", count)
		},
	})
}

func (up *upstream) deliver(m message) {
	if m.event != nil {
		up.observed(up.ctx, m.event)
		return
	}
	ctx := up.ctx
	if m.of != nil {
		ctx = context.WithValue(ctx, requestKey{}, m.of)
	}
	up.notified(ctx, m.n)
}

// delivered waits until the host has what the server sent before an answer, for at most a second.
func (up *upstream) delivered(ctx context.Context) {
	if up.shared == nil || !up.inbox.Busy() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	up.inbox.Await(ctx.Done())
}

// close implements [backend].
func (up *upstream) close() {
	if up.shared == nil {
		up.connection.close()
		return
	}
	up.abandon()
	up.shared.leave(up)
	up.inbox.Stop()
	up.sharing.work.Wait()
	up.mu.Lock()
	defer up.mu.Unlock()
	for _, s := range up.subscriptions {
		_ = s.Close() // it returns nil
	}
}

// commonLevels are the log levels that the hosts of a shared server want.
type commonLevels struct {
	turn   chan struct{} // held while the members below are used
	wanted map[*upstream]mcp.LoggingLevel
	lowest mcp.LoggingLevel // of requests of stateless hosts so far, "" for none
	level  mcp.LoggingLevel // of the server, "" before one is set
	set    atomic.Bool      // level is not ""
}

func (l *commonLevels) init() {
	l.turn, l.wanted = make(chan struct{}, 1), map[*upstream]mcp.LoggingLevel{}
}

// change sets the level of the server after f has changed what hosts want. undo takes that back if
// the server refuses the level.
func (l *commonLevels) change(ctx context.Context, c *client.Client, f func() (undo func())) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	undo := f()
	lowest := l.lowest
	for _, level := range l.wanted {
		lowest = lower(lowest, level)
	}
	if lowest == "" || lowest == l.level {
		return nil
	}
	if err := c.SetLogLevel(ctx, lowest); err != nil {
		undo()
		return err
	}
	l.level = lowest
	l.set.Store(true)
	return nil
}

// lower returns the lower one of two levels. "" is none.
func lower(a, b mcp.LoggingLevel) mcp.LoggingLevel {
	if a == "" || b != "" && b.Slog() < a.Slog() {
		return b
	}
	return a
}

// want sets the level of a session host.
func (l *commonLevels) want(ctx context.Context, up *upstream, level mcp.LoggingLevel) error {
	return l.change(ctx, up.client, func() func() {
		before, there := l.wanted[up]
		l.wanted[up] = level
		return func() {
			if l.wanted[up] = before; !there {
				delete(l.wanted, up)
			}
		}
	})
}

// need lowers the level for a request of a stateless host.
func (l *commonLevels) need(ctx context.Context, c *client.Client, level mcp.LoggingLevel) error {
	return l.change(ctx, c, func() func() {
		before := l.lowest
		l.lowest = lower(before, level)
		return func() { l.lowest = before }
	})
}

// forget removes a host that has left.
func (l *commonLevels) forget(ctx context.Context, up *upstream) {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	err := l.change(ctx, up.client, func() func() {
		delete(l.wanted, up)
		return func() {}
	})
	if err != nil && ctx.Err() == nil {
		up.host.log.Warn("[MCP] the server still has the log level of a host that has left", "error", err)
	}
}

// restore sets the level of a server that takes the place of one that has ended.
func (l *commonLevels) restore(ctx context.Context, c *client.Client, log *slog.Logger) {
	if !l.set.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	err := l.change(ctx, c, func() func() {
		l.level = ""
		return func() {}
	})
	if err != nil {
		log.Warn("[MCP] the log level could not be set again", "error", err)
	}
}
