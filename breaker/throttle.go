package breaker

import "time"

// gate is a throttle: it refuses all calls until a time.
type gate struct {
	until  time.Time
	reason string
}

// heldRefusal is the refusal of throttle g in one generation. It is kept, so that
// a refusal allocates nothing.
type heldRefusal struct {
	gen uint64
	g   *gate
	err OpenError
}

// Throttle refuses every permit for d from now, because the peer asked callers to
// wait (Retry-After). It applies in every state and also in mode [Bypass]. A
// throttle is never shortened: an end that is earlier than the current one has no
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

// openGate removes a throttle that is over, so that later calls need not read the
// clock for it. Acquire calls it after it found the gate open.
func (b *Breaker) openGate() {
	if g := b.gate.Load(); g != nil && time.Until(g.until) <= 0 {
		b.gate.CompareAndSwap(g, nil)
	}
}

// holding returns the throttle in force, nil if there is none.
func (b *Breaker) holding() *gate {
	if g := b.gate.Load(); g != nil && time.Until(g.until) > 0 {
		return g
	}
	return nil
}

// whileHeld returns the refusal of throttle g in phase ph.
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
