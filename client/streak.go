package client

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// streak is what counts against the server only when it happens again.
type streak struct {
	resilience.Streak
	began time.Time
	lost  atomic.Pointer[link.Link] // whose session was lost last
}

// happenedAgain notes a failed attempt, and reports whether it is one too many of
// its kind on this connection. A lost session fails many calls, and is one loss.
func (c *Client) happenedAgain(cl *call, a resilience.Attempt) bool {
	lost := a.Class == resilience.ClassSessionLost
	if lost && c.live.Load() != cl.link || a.Class == resilience.ClassUnreadable && cl.link.Traits.Exchanges {
		return false // known already; and exchanges share no stream that could be out of step
	}
	if !lost && a.Class != resilience.ClassUnreadable {
		c.readable(a)
		return false
	}
	s := c.parts.get().streak.made(func() *streak { return &streak{began: time.Now()} })
	if lost && s.lost.Swap(cl.link) == cl.link {
		return false
	}
	return s.Note(a, time.Since(s.began)+1)
}

// readable notes an attempt after which a run of unreadable ones begins anew.
func (c *Client) readable(a resilience.Attempt) {
	if parts := c.parts.peek(); parts != nil {
		if s := parts.streak.peek(); s != nil {
			s.Note(a, 1)
		}
	}
}
