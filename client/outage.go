package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
)

// Outage describes a time in which a client has no server to talk to: the program
// has ended, or the one stream that carries all messages has. Over streamable HTTP,
// where each message has a request of its own, only [Client.Close] makes one.
type Outage struct {
	// Cause is how the server ended, or why it could not be restarted. It is
	// nil for a moment, until the client has found out.
	Cause error
	// NextStart is when the client starts the server again after a pause; zero when
	// it is doing so now, and when Final is set.
	NextStart time.Time
	// Final reports that the client does not recover: every call fails from now on.
	Final bool
}

// Outage returns the current outage; down is false if there is none. It does
// no I/O.
func (c *Client) Outage() (o Outage, down bool) {
	if c.core.Life.Closed() {
		return Outage{Cause: life.ErrClosed(), Final: true}, true
	}
	if k := c.calls.Keeper.Peek(); k.Restarting() {
		until, down, cause := k.Outage()
		return Outage{Cause: cause, NextStart: until, Final: down && c.State() == StateEnded}, down
	}
	l := c.core.Links.Load()
	if l.Traits.Exchanges {
		return Outage{}, false
	}
	select {
	case <-l.Conn.Done():
		// The error is that of a failed connection: a new one may work.
		f := l.Ended()
		return Outage{Cause: c.core.About(outcome.Subject{}, outcome.ErrorOf(f)), Final: true}, true
	default:
		return Outage{}, false
	}
}
