package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
)

// Outage describes a time in which a client has no server to talk to: the program
// has ended, or the one stream that carries all messages has. Over streamable HTTP,
// where each message has a request of its own, only [Client.Close] makes one.
type Outage struct {
	// Cause is how the server ended, or why it could not be started again. It is
	// nil for a moment, until the client has found out.
	Cause error
	// NextStart is when the client starts the server again after a pause; zero when
	// it is doing so now, and when Final is set.
	NextStart time.Time
	// Final reports that the client does not recover: every call fails from now on.
	Final bool
}

// Outage returns the outage that lasts at this moment; down is false when there is
// none. It does no I/O.
func (c *Client) Outage() (o Outage, down bool) {
	if c.isClosed() {
		return Outage{Cause: errClosed(), Final: true}, true
	}
	if k := c.restarting(); k != nil {
		until, down, cause := k.Outage()
		return Outage{Cause: cause, NextStart: until, Final: down && c.State() == StateEnded}, down
	}
	l := c.live.Load()
	if l.Traits.Exchanges {
		return Outage{}, false
	}
	select {
	case <-l.Conn.Done():
		// As while connecting: a new connection may well work.
		f := l.Ended()
		return Outage{Cause: c.about(subject{}, outcome.ErrorOf(f)), Final: true}, true
	default:
		return Outage{}, false
	}
}

// Done returns a channel that is closed when the client can make no more calls:
// after [Client.Close], or in [StateEnded]; [Client.Outage] has the reason. A client
// that starts its program again, or opens a lost session again, is not done.
func (c *Client) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.State().final() {
			close(c.done)
		}
	}
	return c.done
}
