package client

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// watchOver restarts the program or the HTTP+SSE stream of t when it ends, and
// reports the end of another stream. A transport with an exchange for each message
// has no such end.
func (c *Client) watchOver(t transport.Transport) {
	l := c.live.Load()
	set, again := c.res.Restart, l.Traits.Process && !c.res.Restart.Off
	if l.Traits.SessionOnly { // HTTP+SSE: its end is that of one stream, not of the server
		set, again = streamRestart, true
		if c.Negotiated().Fallback {
			t = era.FallbackOf(t)
		}
	}
	if again {
		k := c.restartKeeper(t, set, l.Traits.SessionOnly)
		c.keeper.Set(k)
		k.Watch()
		return
	}
	c.cfg.connecting = nil
	if !l.Traits.Exchanges {
		c.life.Go(c.watchEnd)
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
		c.watcher().Restarted(before)
	}
	k.Restarts = &keeper.Restarts{
		Schedule: set.schedule(), Again: again, Patience: orElse(set.CallWait, defaultCallWait), Hung: hung,
		Why: c.whyEnded, Gone: func(err error) { c.emit(Disconnected{Cause: err}) },
	}
	k.Restarts.Schedule.Started(time.Now())
	return keeper.New(k)
}

var errSlowStart = errors.New("the server was not ready in time after a restart or reconnect")

// startAgain starts a program and opens the conversation with it. Until that is
// open, only the handshake uses it.
func (c *Client) startAgain(ctx context.Context, t transport.Transport, again string) error {
	before := c.live.Agreed()
	n, err := c.negotiateAgain(ctx, t)
	if err == nil && !c.life.Unless(c.live.Promote) {
		err = life.ErrClosed()
	}
	if err != nil {
		c.live.Discard()
		return err
	}
	n.settled()
	c.lists().ClearOf(before)
	c.lists().Clear()
	c.guard.Renewed("the server was " + again + " again")
	return nil
}

// whyEnded returns the error that says how a link has ended. killed is the reason
// of a program that this side has killed.
func (c *Client) whyEnded(l *link.Link, killed error) error {
	f := l.Ended()
	if killed == nil {
		return c.failed(outcome.Subject{}, f)
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent,
		"the server hung and was killed: "+killed.Error(), killed)
	e.Process = f.Process
	return c.about(outcome.Subject{}, e)
}

// keeperConfig is what keepers of both kinds are given.
func (c *Client) keeperConfig() keeper.Config {
	return keeper.Config{
		Links: &c.live, Server: c.server, Log: c.log, Life: c.life.Context(), Go: c.life.Go,
		Closed: c.life.Refusal,
		Enter: func(to keeper.State, cause error, held time.Duration) {
			c.transition(State(to), cause, held)
			if in := c.incoming.Peek(); in != nil && to == keeper.Making {
				in.LinkEnded()
			}
		},
	}
}
