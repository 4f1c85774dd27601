package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/notify"
	"github.com/mainstay-mcp/mainstay/client/internal/progress"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Client is an open connection to one server. Its methods may be called from
// many goroutines at once. Close it when done.
type Client struct {
	cfg    *config
	server string // the transport's name
	log    *slog.Logger
	res    *Resilience
	fetch  lazy[toolcache.Fetch] // see fetcher

	live       link.Holder
	identity   string                     // of the server, for caches
	whose      *whose                     // nil for nobody in particular
	negotiated atomic.Pointer[Negotiated] // nil before Connect returns
	state      atomic.Uint32              // a State; written under mu
	keeper     lazy[keeper.Keeper]        // nil until it is needed; see watchOver

	guard   lazy[breaker.Breaker] // unless the options gave one
	parts   lazy[chainParts]
	tools   lazy[toolcache.Cache] // theirs, or the client's own
	catalog lazy[catalog.Catalog]

	subscriptions lazy[watch.Watcher]
	progress      lazy[progress.Table]  // see progressTable
	tasks         lazy[tasks.Follower]  // see follower
	notifiers     lazy[notify.Notifier] // see handlers

	asks   lazy[ask.Dispatcher] // see dispatcher
	budget transport.Budget     // of what the server makes this side hold

	inFlight atomic.Int64
	pulse    pulse
	untyped  atomic.Bool // a result without a type was logged
	probing  atomic.Bool // what comes is dropped meanwhile (NEG-16)

	// life ends with Close; handlers and what is sent behind a caller's back
	// run under it.
	life    context.Context
	end     context.CancelFunc
	work    sync.WaitGroup // of everything under life
	errands sync.WaitGroup // of what is sent behind a caller's back

	mu     sync.Mutex
	done   chan struct{} // nil until somebody asks; see Done
	closed atomic.Bool   // written under mu
	close  sync.Once
	err    error
}

func newClient(cfg *config, t transport.Transport) *Client {
	c := &Client{cfg: cfg, server: t.String(), log: cfg.logger, res: cfg.resilience, identity: identity(t)}
	c.guardHooks()
	c.keepSecrets(t)
	c.res.log.join(c)
	c.budget.SetLimit(max(cfg.memory, 0)) // less than 0 is no bound
	// A client outlives the context it was connected with.
	c.life, c.end = context.WithCancel(context.Background()) //nolint:forbidigo // ends with Close
	c.tools.part.Store(cfg.cache)
	return c
}

// fetcher returns fetchTools, bound once: binding allocates.
func (c *Client) fetcher() toolcache.Fetch {
	return *c.fetch.made(func() *toolcache.Fetch {
		fetch := toolcache.Fetch(c.fetchTools)
		return &fetch
	})
}

// cache is where the client keeps lists of tools and what else a server lets be
// kept.
func (c *Client) cache() *toolcache.Cache {
	return c.tools.made(func() *toolcache.Cache {
		cache, _ := toolcache.New(c.cfg.cacheSettings()) // they were checked
		return cache
	})
}

// What Close waits for besides the transport, which bounds itself: for what is
// on its way to the server, such as the word that a call was given up, and for
// handlers to return.
const (
	errandGrace  = 250 * time.Millisecond
	closeTimeout = time.Second
)

// Close ends every call in flight with an error, tells the server, and waits
// until connections, child process and goroutines are gone. Of a program it ends
// the process group; see [transport.Command] for descendants that leave it. A handler that
// does not return is waited for one second. It may be called more than once.
func (c *Client) Close() error {
	c.close.Do(func() {
		c.mu.Lock()
		c.closed.Store(true)
		c.mu.Unlock()
		c.enter(StateClosed, nil, 0)
		l := c.live.Load()
		if l != nil {
			waitFor(&c.errands, errandGrace)
		}
		c.end()
		c.silence().Close()
		if w := c.subscriptions.peek(); w != nil {
			w.End()
		}
		if k := c.restarting(); k != nil {
			<-k.Done() // perhaps in the middle of a start, which it gives up
			l = c.live.Load()
		}
		if l != nil {
			c.err = l.Conn.Close()
		}
		c.notifier().Stop()
		if !waitFor(&c.work, closeTimeout) {
			c.log.Warn("[MCP] a handler did not return within a second of Close", "server", c.server)
		}
		callback.Flush(c.cfg.logger, closeTimeout) // which c.log writes to
	})
	return c.err
}

// waitFor waits for a group, no longer than bound, and reports whether it is
// done.
func waitFor(group *sync.WaitGroup, bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// behind runs f beside the caller, within the client's life. f does not run
// once the client is closed.
func (c *Client) behind(f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed.Load() {
		c.errands.Add(1)
		c.work.Go(func() {
			defer c.errands.Done()
			f(c.life)
		})
	}
}

// within runs f within the client's life and reports whether it does. Close ends
// the life first and waits then, where it waits for what runs behind first.
func (c *Client) within(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed.Load() {
		c.work.Go(f)
	}
	return !c.closed.Load()
}

func (c *Client) isClosed() bool { return c.closed.Load() }

// ServerInfo returns what the server calls itself: a claim, for display and
// logs only.
func (c *Client) ServerInfo() mcp.Implementation { return c.live.Agreed().Server() }

// ProtocolVersion returns the revision that was negotiated.
func (c *Client) ProtocolVersion() mcp.Version { return c.live.Agreed().Version }

// Negotiated returns how the era of the conversation was found last.
func (c *Client) Negotiated() Negotiated { return *c.negotiated.Load() }

// Capabilities returns what the server declared.
func (c *Client) Capabilities() mcp.ServerCapabilities { return c.live.Agreed().Capabilities }

// Instructions returns the server's text on how to use it; untrusted.
func (c *Client) Instructions() string { return c.live.Agreed().Instructions }

// InitializeResult returns the server's answer to initialize, or to
// server/discover in the stateless era, as it came.
func (c *Client) InitializeResult() json.RawMessage { return slices.Clone(c.live.Agreed().Raw) }

// HasCapability reports whether the server declared a capability: "tools",
// "tools.listChanged", "resources.subscribe", "experimental.x". A
// declared empty object counts; before the handshake nothing does.
func (c *Client) HasCapability(name string) bool { return c.live.Agreed().Capabilities.Has(name) }
