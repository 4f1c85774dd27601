package fleetredis

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// guardedGate calls the application's gate on another goroutine, so that a gate that ends
// its goroutine does not end the one that steps the views.
type guardedGate struct {
	Gate
	f *Fleet
}

// ThrottledFor implements [Gate].
func (g guardedGate) ThrottledFor() (left time.Duration) {
	callback.Aside("Gate.ThrottledFor", g.f.callbackFailed, func() { left = g.Gate.ThrottledFor() })
	return left
}

// Throttle implements [Gate].
func (g guardedGate) Throttle(d time.Duration) {
	callback.Aside("Gate.Throttle", g.f.callbackFailed, func() { g.Gate.Throttle(d) })
}

// callbackFailed logs that a function of the application panicked. It logs that once,
// because gates are called ten times a second.
func (f *Fleet) callbackFailed(e *callback.Error) {
	if _, logged := f.logged.LoadOrStore(e.Name, true); logged {
		return
	}
	f.set.Logger.Error("fleet: a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
}

// look reads a breaker and its gate. It takes no lock.
func (m *member) look() standing {
	s := m.b.Snapshot()
	st := standing{
		state: s.State, generation: s.Generation, retryAfter: s.RetryAfter, refused: s.Refused,
		reason: s.Reason, manual: s.Mode != breaker.Auto,
	}
	if m.gate != nil {
		st.hold = m.gate.ThrottledFor()
	} else if s.Throttled {
		st.hold, st.holdReason = s.RetryAfter, s.ThrottleReason
	}
	return st
}

// follow applies the advice of the other nodes to a breaker.
func (l *loop) follow(m *member, a advice) {
	c := &l.f.count
	if a.suspect > 0 {
		c.suspected.Add(1)
		m.b.Suspect(a.suspect)
	}
	if a.wait > 0 {
		c.held.Add(1)
		m.b.Throttle(a.wait, hinted+"another node probes")
	}
	if a.hold > 0 {
		c.held.Add(1)
		if m.gate != nil {
			m.gate.Throttle(a.hold)
		} else {
			m.b.Throttle(a.hold, hinted+"the server asked another node to wait")
		}
	}
	if a.trip != "" {
		c.preOpened.Add(1)
		m.b.Trip(a.trip)
	}
}
