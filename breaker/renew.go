package breaker

// Renewed says that the peer was replaced by a fresh one which has been heard of
// already: a program that was started again and has shaken hands, say. What the
// old one has done does not speak against it, so OPEN and HALF_OPEN close in
// probation, as after a [Tentative] probe: until the first Success one Failure opens
// again. A probe under way was of the old peer and has no effect any more. In
// CLOSED it does nothing; a hold, a mode and a suspicion stay as they are.
//
// It is for a breaker that guards this one peer: one shared with others has
// learnt of more than what was replaced. reason is for the log and the health
// view. It reports whether it had an effect.
func (b *Breaker) Renewed(reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.phase.Load().state == Closed {
		return false
	}
	b.closeAnew("renewed", reason)
	return true
}

// closeAnew closes in probation past the engine, under the lock. The engine knows
// no way to CLOSED but a probe; a new one is CLOSED, and nobody asks the old one
// any more: what reports to it is of generations that have passed.
func (b *Breaker) closeAnew(text, reason string) {
	b.engine = b.newEngine()
	b.phase.Load().proved = false // what one of several probes has shown was before
	if reason != "" {
		text += ": " + reason
	}
	b.begin(Closed, text)
}
