package client

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
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
		c.subscriptions.get().resubscribe(ctx, c)
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
				c.missed(errWatchedLate)
			}
		})
	}
}

var (
	errNewSession  = errors.New("the server lost the session; a new one was opened")
	errWatchedLate = errors.New("a new session could not be told of resources to watch at once")
)

// restoreRestarted gives a restarted program what the one before had. Streams of
// subscriptions reopen on their own, in their era.
func (c *Client) restoreRestarted(before *link.Agreement) {
	era := c.live.Agreed().Era
	if before.Era != era {
		c.moveSubscriptions(era)
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
	c.tellListsChanged(c.declared(allLists))
}

// moveSubscriptions takes what is subscribed to into another era: to watch
// resources in a session, or to hold streams open (fault F1).
func (c *Client) moveSubscriptions(era mcp.Era) {
	t := c.subscriptions.peek()
	if t == nil {
		return
	}
	t.mu.Lock()
	clear(t.users)
	t.mu.Unlock()
	for _, s := range t.all() {
		if era == mcp.EraSession {
			s.toSession(t)
			continue
		}
		s.offer(Change{Gap: true})
		if !c.within(s.keepListening) {
			s.finish(errClosed())
		}
	}
}

// toSession makes a subscription one of the session era. What the client's own
// handlers need comes without it there.
func (s *Subscription) toSession(t *subscriptions) {
	if s.f == nil {
		s.mu.Lock()
		s.honored = mcp.SubscriptionFilter{} // nothing of it is watched, so nothing is to be taken back
		s.mu.Unlock()
		s.finish(nil)
		return
	}
	s.mu.Lock()
	filter := s.c.declared(s.asked)
	s.stream, s.twice, s.honored = nil, nil, filter
	s.moves++
	s.mu.Unlock()
	if empty(filter) {
		s.fail(s.c.local(mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
			"the server was started again and does not tell of any change that was asked for", nil), subscribeName))
		return
	}
	for _, uri := range filter.ResourceSubscriptions {
		t.use(uri)
	}
}
