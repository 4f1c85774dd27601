package guard

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// streak detects failures that count against the server only when they repeat.
type streak struct {
	resilience.Streak
	began time.Time
	noted atomic.Bool               // whether a failure was recorded
	lost  atomic.Pointer[link.Link] // the last link whose session was lost
}

// repeated records a failed request, and reports whether failures of its kind have repeated too
// often on this connection. A lost session counts once, though it fails many requests.
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
		return false // it was already replaced
	}
	s := &h.streak
	s.noted.Store(true)
	if lost && s.lost.Swap(p.link) == p.link {
		return false // it was already counted
	}
	return s.Note(*a, time.Since(s.began)+1)
}
