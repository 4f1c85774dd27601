package breaker

import (
	"sync/atomic"
	"time"
)

// phase is the time from one transition to the next; its generation is its number.
// A phase is replaced under the lock and read without one.
type phase struct {
	state State
	from  State
	gen   uint64
	opens uint64
	since time.Time
	// until is the last time at which OPEN refuses.
	until time.Time
	// began is the run of failures at the start of the phase.
	began  uint32
	reason string
	// doubted is set if probes closed the breaker several times in vain; see
	// [Permit.Doubted].
	doubted bool
	// refusal is what Acquire returns in this phase. It is made once, so that a
	// refusal allocates nothing.
	refusal OpenError

	// run is the current run of failures. probation is set if one failure in CLOSED
	// opens the breaker again. Both are written under the lock.
	run       atomic.Uint32
	probation atomic.Bool
	// taken is how many places of HALF_OPEN are taken, out is how many probes run.
	// Both are written under the lock.
	taken, out atomic.Int32
	// proved is set if one of the probes so far had the verdict Success. report
	// gives the engine a verdict of this generation. The lock guards both.
	proved bool
	report func(error)

	// next is the phase that followed, for publishing in order.
	next atomic.Pointer[phase]
}

// failure is one that counted.
type failure struct {
	reason string
	at     time.Time
}

// begin replaces the phase by one in state to. It runs under the lock, after
// the engine has moved.
func (b *Breaker) begin(to State, reason string) *phase {
	old := b.phase.Load()
	ph := &phase{state: to, from: old.state, gen: old.gen + 1, opens: old.opens, since: time.Now(), reason: reason}
	switch to {
	case Open:
		ph.opens++
		ph.began = old.run.Load()
		ph.until = b.round.after(old, ph.since, b.cause, &b.set)
	case HalfOpen:
		ph.began = old.run.Load()
		ph.doubted = b.round.hollow >= hollowLimit
	case Closed:
		ph.probation.Store(!old.proved)
	}
	ph.run.Store(ph.began)
	ph.refusal = OpenError{Name: b.set.Name, State: to, Until: ph.until, Reason: reason}
	b.phase.Store(ph)
	if b.set.Logger != nil || b.set.OnTransition != nil {
		// Without a listener nothing walks the chain, and the first phase would keep
		// all later ones alive.
		old.next.Store(ph)
		b.publish()
	}
	return ph
}
