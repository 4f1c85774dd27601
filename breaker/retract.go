package breaker

// Tripped identifies the effect of one [Breaker.Trip]. It is a value, and is
// safe for concurrent use. The zero Tripped is a Trip without effect.
//
// # Experimental
//
// It may change.
type Tripped struct {
	b   *Breaker
	gen uint64
}

// Retract takes the trip back, because the peer was only busy and has answered.
// If the breaker is still OPEN in the generation that the trip started, it
// closes on probation, as after a [Tentative] probe: until the first Success,
// one Failure opens it again. Otherwise Retract does nothing, so it never
// closes a breaker that failures, another watcher or a failed probe have
// opened. A throttle, a mode and a suspicion stay. reason appears in the log
// and in health reports. Retract reports whether the state changed.
func (t Tripped) Retract(reason string) bool {
	if t.b == nil {
		return false
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if ph := t.b.phase.Load(); ph.gen != t.gen || ph.state != Open {
		return false
	}
	t.b.reclose("retracted", reason)
	return true
}
