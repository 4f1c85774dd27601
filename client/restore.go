package client

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// restoreTime is how long restoring may take before listeners are told that they
// may have missed something.
const restoreTime = 2 * time.Second

// restore gives a new session what the old one had (LC-17). Where that takes long
// it continues in the background, and listeners are told again when it is done.
func (c *Client) restore(ctx context.Context) {
	now := c.live.Load()
	done := make(chan struct{})
	if !c.within(func() {
		defer close(done)
		if !c.levelRestored(ctx, now) {
			c.within(func() { c.keepLevel(ctx, now) })
		}
		if w := c.subscriptions.peek(); w != nil {
			w.Restore(ctx)
		}
	}) {
		return
	}
	late := time.NewTimer(restoreTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
	c.openStream()
	c.missed(errNewSession)
	select {
	case <-done:
	default:
		c.within(func() {
			if <-done; c.live.Load() == now {
				c.missed(watch.ErrLate)
			}
		})
	}
}

var errNewSession = errors.New("the server lost the session; a new one was opened")

// replaced reports whether the session of a link is gone, or about to be: the next
// one asks for all there is to ask for.
func (c *Client) replaced(now *link.Link) bool {
	k := c.keeper.peek()
	return c.live.Load() != now || k != nil && k.Renewing() || c.isClosed()
}

// restoreRestarted gives a restarted program what the one before had. Streams of
// subscriptions reopen on their own, in their era.
func (c *Client) restoreRestarted(before *link.Agreement) {
	era := c.live.Agreed().Era
	if before.Era != era {
		if w := c.subscriptions.peek(); w != nil {
			w.Move()
		}
	}
	if era == mcp.EraSession {
		c.restore(c.life)
		return
	}
	if level := c.levelSet(); level != nil {
		if err := c.stampLogLevel(*level); err != nil { // it may have been set during the start
			c.log.Warn("[MCP] the log level could not be set again", "server", c.server, "error", err)
		}
	}
	if before.Era != era {
		c.listenForHandlers()
	}
	c.notifier().Unheard(watch.Declared(c.live.Agreed(), watch.AllLists))
}
