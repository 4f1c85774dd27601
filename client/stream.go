package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// attend opens what handlers need to hear the server, once the conversation is
// open: the session's own stream (HTTP-19), or a subscription (CHG-03). A
// server that offers neither is left in peace.
func (c *Client) attend() {
	if c.live.Agreed().Era == mcp.EraStateless {
		c.listenForHandlers()
	} else {
		c.openStream()
	}
	if c.cfg.keepAlive > 0 {
		c.within(c.watchLife)
	}
}

// streamWait bounds how long a session waits for the server's word on its own
// stream: some say nothing there before they have something to send.
const streamWait = 500 * time.Millisecond

// openStream opens the stream for what the server sends by itself in a session,
// if anybody is there to hear it. It waits until the server has it: what a
// server asks because of a request that overtook the stream is lost, and the
// call that caused it waits for ever.
func (c *Client) openStream() {
	l := c.live.Load()
	if s, ok := l.Conn.(transport.Streamer); ok && l.Agreed.Era == mcp.EraSession && c.needsStream() {
		wait := time.NewTimer(streamWait)
		defer wait.Stop()
		select {
		case <-s.OpenStream():
		case <-wait.C:
		case <-c.life.Done():
		}
	}
}

// needsStream reports whether anybody waits for what a server sends by itself.
func (c *Client) needsStream() bool {
	offers := c.cfg.offer.Capabilities(c.live.Agreed().Version)
	return c.cfg.handlers.Any() || offers.Roots != nil || offers.Sampling != nil || offers.Elicitation != nil || c.subscribed()
}

var errStreamGap = errors.New("the server's stream was interrupted")

// onGap is told by the transport that the session's stream was interrupted. It
// is called on the goroutine that reads.
func (c *Client) onGap() {
	c.within(func() { c.missed(errStreamGap) })
}

// missed makes good for what may have been missed in a session: lists are asked
// for again, and whoever listens is told (CHG-09).
func (c *Client) missed(reason error) {
	c.forgetAll()
	if c.needsStream() {
		c.emit(SubscriptionGap{Reason: reason})
	}
	if w := c.subscriptions.peek(); w != nil {
		w.Gap()
	}
	c.notifier().Unheard(watch.Declared(c.live.Agreed(), watch.AllLists))
}
