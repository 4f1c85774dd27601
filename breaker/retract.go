package breaker

// Tripped is what one [Breaker.Trip] has opened. It is a value, and may be used
// from many goroutines at once. The zero Tripped, which a Trip without effect
// returns too, is of nothing.
type Tripped struct {
	b   *Breaker
	gen uint64
}

// Retract takes the trip back: the watcher was wrong, the peer lives (it was
// busy, say, and has answered now). A breaker that is still OPEN in the very
// generation that the trip began closes in probation, as after a [Tentative]
// probe: until the first Success one Failure opens it again. In any other it
// does nothing, so it never closes what failures, another watcher or a failed
// probe have opened; a hold, a mode and a suspicion stay as they are. reason is
// for the log and the health view. It reports whether it had an effect.
func (t Tripped) Retract(reason string) bool {
	if t.b == nil {
		return false
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if ph := t.b.phase.Load(); ph.gen != t.gen || ph.state != Open {
		return false
	}
	t.b.closeAnew("retracted", reason)
	return true
}
