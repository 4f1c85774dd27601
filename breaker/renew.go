package breaker

// Renewed reports that the peer was replaced by a new one that already answers,
// for example a restarted program after its handshake. OPEN and HALF_OPEN
// become CLOSED on probation, as after a [Tentative] probe: until the first
// Success, one Failure opens the breaker again. The verdict of a running probe
// is ignored, because the probe went to the old peer. In CLOSED it does
// nothing. A throttle, a mode and a suspicion stay.
//
// Use it only for a breaker that guards this one peer and is not shared with
// others. reason appears in the log and in health reports. Renewed reports
// whether the state changed.
//
// # Experimental
//
// The client uses it for programs that it restarts; it may change.
func (b *Breaker) Renewed(reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.phase.Load().state == Closed {
		return false
	}
	b.reclose("renewed", reason)
	return true
}

// reclose closes on probation without a probe. Only a probe closes an engine, so
// reclose drops the engine: the next one starts in CLOSED. Reports to the old one
// belong to earlier generations. Requires b.mu.
func (b *Breaker) reclose(text, reason string) {
	b.engine = nil
	b.phase.Load().proved = false // probes so far went to the old peer
	if reason != "" {
		text += ": " + reason
	}
	b.begin(Closed, text)
}
