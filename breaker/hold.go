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

// Hold refuses every permit for d from now, in every state and also with
// [Bypass]: the peer itself has said when it wants to be called again
// (Retry-After). A hold only grows: one that ends earlier than the present one
// has no effect. It changes no state, and the cooldown goes on meanwhile. d
// of 0 or less has no effect.
func (b *Breaker) Hold(d time.Duration, reason string) {
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
		Name: b.set.Name, State: ph.state, Until: g.until, Held: true, Reason: g.reason,
	}}
	if ph.until.After(g.until) {
		h.err.Until = ph.until
	}
	b.held.Store(h)
	return &h.err
}
