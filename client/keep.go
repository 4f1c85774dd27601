package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// watchOver restarts the program or the HTTP+SSE stream of t when it ends, and
// reports the end of another stream. A transport with an exchange for each message
// has no such end.
func (c *Client) watchOver(t transport.Transport) {
	l := c.core.Links.Load()
	switch {
	case l.Traits.SessionOnly: // HTTP+SSE: its end is that of one stream, not of the server
		if c.Negotiated().Fallback {
			t = era.FallbackOf(t)
		}
		c.calls.Keeper.Set(newRestartKeeper(c, t, streamRestart, true))
	case l.Traits.Process && !c.cfg.resilience.Restart.Off:
		c.calls.Keeper.Set(newRestartKeeper(c, t, c.cfg.resilience.Restart, false))
	default:
		c.cfg.connecting = nil
		if !l.Traits.Exchanges {
			keeper.New(&c.core, keeperConfig(c)).Watch()
		}
		return
	}
	c.calls.Keeper.Peek().Watch()
}

// newRestartKeeper makes the keeper of a program, or of the stream of HTTP+SSE.
func newRestartKeeper(c *Client, t transport.Transport, set Restart, stream bool) *keeper.Keeper {
	again, paused := "started", "the server keeps exiting; next restart"
	if stream {
		again, paused = "connected", "the connection keeps failing; next attempt"
	}
	hung := set.Hung
	if hung >= 0 {
		hung = cmp.Or(hung, c.cfg.resilience.IdleTimeout, defaultHung)
	}
	k := keeperConfig(c)
	k.Open = func(ctx context.Context) (opened func(), err error) {
		before := c.core.Links.Agreed()
		n := newNegotiation(c, true)
		err = n.openAgain(ctx, t)
		return func() {
			n.settled()
			c.lists().ClearOf(before)
			c.lists().Clear()
			c.calls.Guard.Renewed("the server was " + again + " again")
		}, err
	}
	k.Timeout, k.TooSlow = cmp.Or(set.StartTimeout, defaultStartTimeout), errSlowStart
	k.Restore = func(before *link.Agreement, cause error) {
		agreed := c.core.Links.Agreed()
		if stream {
			c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
		} else {
			c.emit(Restarted{Cause: cause, Server: agreed.Server(), Version: agreed.Version})
		}
		c.watcher().Restarted(before)
	}
	k.Restarts = &keeper.Restarts{
		Schedule: set.schedule(), Again: again, Paused: paused, Patience: cmp.Or(set.CallWait, defaultCallWait), Hung: hung,
	}
	k.Restarts.Schedule.Started(time.Now())
	return keeper.New(&c.core, k)
}

var errSlowStart = errors.New("the server was not ready in time after a restart or reconnect")

// newSessionTimeout bounds opening a session in place of one that was lost.
const newSessionTimeout = time.Minute

// newSessionKeeper makes the keeper that replaces lost sessions.
func newSessionKeeper(c *Client) *keeper.Keeper {
	k := keeperConfig(c)
	k.Open = func(ctx context.Context) (opened func(), err error) {
		session := newSession(c)
		return func() { c.lists().Clear() }, session.OpenSession(ctx, c.core.Links.Agreed().Version)
	}
	k.Timeout = newSessionTimeout
	k.Restore = func(*link.Agreement, error) {
		agreed := c.core.Links.Agreed()
		c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
		c.watcher().Renewed()
	}
	k.Renewals = &keeper.Renewals{
		Schedule: resilience.NewRenewal(resilience.RenewalSettings{}),
		Allowed: func() error {
			if e := c.calls.Guard.Throttle().Refusal(); e != nil { // initialize is throttled, too
				return e
			}
			return nil
		},
		Wanted: (*listener)(c).Needed,
	}
	return keeper.New(&c.core, k)
}

// keeperConfig returns the configuration that all keepers share.
func keeperConfig(c *Client) keeper.Config {
	return keeper.Config{
		Enter: func(to life.State, cause error, held time.Duration) {
			c.transition(to, cause, held)
			if in := c.incoming.Peek(); in != nil && to == life.Restarting {
				in.LinkEnded()
			}
		},
	}
}
