package client

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// watchOver restarts the program or the HTTP+SSE stream of t when it ends, and
// reports the end of another stream. A transport with an exchange for each message
// has no such end.
func (c *Client) watchOver(t transport.Transport) {
	l := c.live.Load()
	set, again := c.cfg.restart, l.Traits.Process && !c.cfg.restart.Off
	if l.Traits.SessionOnly { // HTTP+SSE: its end is that of one stream, not of the server
		set, again = streamRestart, true
		if c.Negotiated().Fallback {
			t = era.FallbackOf(t)
		}
	}
	if again {
		k := c.restartKeeper(t, set, l.Traits.SessionOnly)
		c.keeper.part.Store(k)
		k.Watch()
		return
	}
	c.cfg.connecting = nil
	if !l.Traits.Exchanges {
		c.within(c.watchEnd)
	}
}

// restartKeeper makes the keeper of a program, or of the stream of HTTP+SSE.
func (c *Client) restartKeeper(t transport.Transport, set Restart, stream bool) *keeper.Keeper {
	again := "started"
	if stream {
		again = "connected"
	}
	hung := set.Hung
	if hung >= 0 {
		hung = orElse(hung, orElse(c.res.IdleTimeout, defaultHung))
	}
	k := c.keeperConfig()
	k.Open = func(ctx context.Context) error { return c.startAgain(ctx, t, again) }
	k.Timeout, k.TooSlow = orElse(set.StartTimeout, defaultStartTimeout), errSlowStart
	k.Restore = func(before *link.Agreement, cause error) {
		agreed := c.live.Agreed()
		if stream {
			c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
		} else {
			c.emit(Restarted{Cause: cause, Server: agreed.Server(), Version: agreed.Version})
		}
		c.restoreRestarted(before)
	}
	k.Restarts = &keeper.Restarts{
		Schedule: set.schedule(), Again: again, Patience: orElse(set.CallWait, defaultCallWait), Hung: hung,
		Why: c.whyEnded, Gone: func(err error) { c.emit(Disconnected{Cause: err}) },
	}
	k.Restarts.Schedule.Started(time.Now())
	return keeper.New(k)
}

var errSlowStart = errors.New("the server was not ready in time after it was started or connected again")

// startAgain starts a program and opens the conversation with it. Until that is
// open, only the handshake uses it.
func (c *Client) startAgain(ctx context.Context, t transport.Transport, again string) error {
	before := c.live.Agreed()
	n, err := c.negotiateAgain(ctx, t)
	if err == nil && !c.promote() {
		err = errClosed()
	}
	if err != nil {
		c.live.Discard()
		return err
	}
	n.settled()
	c.cache().Clear(before.Key)
	c.forgetAll()
	if c.cfg.ownBreaker { // one that is shared has learnt of more than this program
		if b := c.guard.peek(); b != nil {
			b.Renewed("the server was " + again + " again")
		}
	}
	return nil
}

// promote makes the link that was opened the live one. It reports false when the
// client is closed.
func (c *Client) promote() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return false
	}
	c.live.Promote()
	return true
}

// whyEnded returns the error that says how a link has ended. killed is the reason
// of a program that this side has killed.
func (c *Client) whyEnded(l *link.Link, killed error) error {
	f := l.Ended()
	if killed == nil {
		return c.failed(subject{}, f)
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent,
		"the server did not work any more and was ended: "+killed.Error(), killed)
	e.Process = f.Process
	return c.about(subject{}, e)
}

// keeperConfig is what keepers of both kinds are given.
func (c *Client) keeperConfig() keeper.Config {
	return keeper.Config{
		Links: &c.live, Server: c.server, Log: c.log, Life: c.life, Go: c.within,
		Closed: func() *mcperrors.Error {
			if c.isClosed() {
				return errClosed()
			}
			return nil
		},
		Enter: func(to keeper.State, cause error, held time.Duration) {
			c.enter(State(to), cause, held)
			if d := c.asks.peek(); d != nil && to == keeper.Making {
				d.LinkEnded()
			}
		},
	}
}
