package breaker

import "time"

// gate keeps everybody out until an instant.
type gate struct {
	until  time.Time
	reason string
}

// heldRefusal is the refusal while gate g is shut, in one generation. It is
// kept, so that refusing costs nothing.
type heldRefusal struct {
	gen uint64
	g   *gate
	err OpenError
}

// Throttle refuses every permit for d from now, because the peer asked to be left
// alone (Retry-After). It applies in every state and also in mode [Bypass]. A
// throttle is never shortened: an end that is earlier than the present one has no
// effect. The state does not change, and a cooldown goes on. Throttle does nothing
// if d is 0 or less.
func (b *Breaker) Throttle(d time.Duration, reason string) {
	if d <= 0 {
		return
	}
	g := &gate{until: time.Now().Add(d), reason: reason}
	for {
		old := b.gate.Load()
		if old != nil && !g.until.After(old.until) {
			return
		}
		if b.gate.CompareAndSwap(old, g) {
			return
		}
	}
}

// openGate forgets a hold that is over, so that calls need not look at the
// clock for it. Acquire calls it after it found the gate open.
func (b *Breaker) openGate() {
	if g := b.gate.Load(); g != nil && time.Until(g.until) <= 0 {
		b.gate.CompareAndSwap(g, nil)
	}
}

// holding returns the hold in force, nil when there is none.
func (b *Breaker) holding() *gate {
	if g := b.gate.Load(); g != nil && time.Until(g.until) > 0 {
		return g
	}
	return nil
}

// whileHeld returns the refusal of phase ph behind gate g.
func (b *Breaker) whileHeld(ph *phase, g *gate) *OpenError {
	if h := b.held.Load(); h != nil && h.g == g && h.gen == ph.gen {
		return &h.err
	}
	h := &heldRefusal{gen: ph.gen, g: g, err: OpenError{
		Name: b.set.Name, State: ph.state, Until: g.until, Throttled: true, Reason: g.reason,
	}}
	if ph.until.After(g.until) {
		h.err.Until = ph.until
	}
	b.held.Store(h)
	return &h.err
}
