package fleetredis

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// guardedGate is the application's gate. It runs on a goroutine of its own, since
// the one that steps the views must not end with it.
type guardedGate struct {
	Gate
	f *Fleet
}

// HoldLeft implements [Gate].
func (g guardedGate) HoldLeft() (left time.Duration) {
	callback.Aside("Gate.HoldLeft", g.f.callbackFailed, func() { left = g.Gate.HoldLeft() })
	return left
}

// Hold implements [Gate].
func (g guardedGate) Hold(d time.Duration) {
	callback.Aside("Gate.Hold", g.f.callbackFailed, func() { g.Gate.Hold(d) })
}

// callbackFailed logs that a function of the application panicked: once, since
// gates are asked ten times a second.
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
		st.hold = m.gate.HoldLeft()
	} else if s.Held {
		st.hold, st.holdReason = s.RetryAfter, s.HoldReason
	}
	return st
}

// follow tells a breaker what the others know.
func (l *loop) follow(m *member, a advice) {
	c := &l.f.count
	if a.suspect > 0 {
		c.suspected.Add(1)
		m.b.Suspect(a.suspect)
	}
	if a.wait > 0 {
		c.held.Add(1)
		m.b.Hold(a.wait, hinted+"another node probes")
	}
	if a.hold > 0 {
		c.held.Add(1)
		if m.gate != nil {
			m.gate.Hold(a.hold)
		} else {
			m.b.Hold(a.hold, hinted+"the server asked another node to wait")
		}
	}
	if a.trip != "" {
		c.preOpened.Add(1)
		m.b.Trip(a.trip)
	}
}
