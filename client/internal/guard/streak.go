package guard

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// streak finds failures that count against the server only when they are repeated.
type streak struct {
	resilience.Streak
	began time.Time
	noted atomic.Bool               // whether anything was
	lost  atomic.Pointer[link.Link] // the last one whose session was lost
}

// repeated notes a failed request, and reports whether it is one too many of its kind
// on this connection. A lost session fails many requests, and is one loss.
func (p *Permit) repeated(a *resilience.Attempt) bool {
	lost := a.Class == resilience.ClassSessionLost
	switch {
	case !lost && a.Class != resilience.ClassUnreadable:
		p.readable(a)
		return false
	case !lost && p.link.Traits.Exchanges:
		return false // exchanges share no stream that could be out of step
	}
	h := p.gate.parts()
	if lost && h.Links.Load() != p.link {
		return false // it is replaced already
	}
	s := &h.streak
	s.noted.Store(true)
	if lost && s.lost.Swap(p.link) == p.link {
		return false // it is counted already
	}
	return s.Note(*a, time.Since(s.began)+1)
}
