package breaker

import (
	"sync"
	"sync/atomic"
	"time"
)

// Permit is the permission to make one call. It is a value: copies are the same
// permit. The zero Permit belongs to no breaker, and settling it does nothing.
type Permit struct {
	b     *Breaker
	p     *permit
	turn  uint64
	probe bool
}

// permit is the part of a permit that its copies share. After it is settled,
// another permit uses it again, at another turn.
type permit struct {
	phase *phase      // nil with Bypass
	lease *time.Timer // of a probe, else nil
	// turn grows by one each time the permit is settled, so that a settled permit
	// cannot be settled again.
	turn atomic.Uint64
}

// permits keeps settled permits for reuse, so that a call through a CLOSED breaker
// allocates nothing.
var permits = sync.Pool{New: func() any { return new(permit) }}

// Probe reports whether the call is a probe, whose verdict decides whether the
// breaker closes. The holder may make another call than it intended, such as a
// ping, and settle the permit with its verdict.
func (p Permit) Probe() bool { return p.probe }

// hollowLimit is the number of probes in vain after which a probe is doubted.
const hollowLimit = 2

// Doubted reports whether the call is a probe that must prove more than a ping
// does. Twice in a row the [Tentative] verdict of a probe closed the breaker,
// and a failure opened it again before any [Success]. The holder should then
// make the call that it intended.
//
// # Experimental
//
// It may change.
func (p Permit) Doubted() bool { return p.probe && p.p.phase.doubted }

// Settle reports the verdict of the call. Only the first call of Settle counts,
// and only in the generation that gave the permit. For example, the slow
// success of a call from before the breaker opened does not close it.
func (p Permit) Settle(v Verdict) { p.SettleFor(v, "") }

// SettleFor is Settle with a short reason of a failure, such as "timeout", for
// the log and health reports. Other verdicts need no reason.
func (p Permit) SettleFor(v Verdict, reason string) {
	if p.p == nil {
		return
	}
	if v == Neutral && p.b.set.CountAll {
		v = Failure
	}
	p.settle(v, reason)
}

// Release gives back a permit without a call. It counts as [Neutral], even if
// [Settings.CountAll] is set.
func (p Permit) Release() {
	if p.p != nil {
		p.settle(Neutral, "")
	}
}

// Lease sets the lease of a probe to d from now, instead of
// [Settings.ProbeLease]. It has no effect on other permits or after settling.
//
// # Experimental
//
// It may change.
func (p Permit) Lease(d time.Duration) {
	if p.probe && p.p.turn.Load() == p.turn {
		p.p.lease.Reset(d)
	}
}

// grant makes the permit for a call in phase ph.
func (b *Breaker) grant(ph *phase) Permit {
	b.requests.Add(1)
	p := permits.Get().(*permit)
	p.phase = ph
	return Permit{b: b, p: p, turn: p.turn.Load()}
}

// grantProbe makes the permit of a probe. It is not from the pool, because its
// lease may end while the holder has it. Requires b.mu.
func (b *Breaker) grantProbe(ph *phase) Permit {
	b.requests.Add(1)
	p := Permit{b: b, p: &permit{phase: ph}, probe: true}
	p.p.lease = time.AfterFunc(b.set.ProbeLease, func() { p.report(Failure, "lease ran out") })
	return p
}

// settle reports v. It then ends the lease of a probe, or gives the permit back to
// the pool.
func (p Permit) settle(v Verdict, reason string) {
	if !p.report(v, reason) {
		return
	}
	if p.probe {
		p.p.lease.Stop()
		return
	}
	p.p.phase = nil
	permits.Put(p.p)
}

// report applies v once. It returns false if the permit was settled before.
func (p Permit) report(v Verdict, reason string) bool {
	if !p.p.turn.CompareAndSwap(p.turn, p.turn+1) {
		return false
	}
	b, ph := p.b, p.p.phase
	switch v {
	case Success, Tentative:
		b.successes.Add(1)
	case Failure, Fatal:
		b.failures.Add(1)
	default:
		b.neutrals.Add(1)
	}
	if b.phase.Load() != ph || ph.unmoved(v) {
		return true
	}
	b.mu.Lock()
	b.settle(ph, v, reason)
	b.mu.Unlock()
	return true
}

// unmoved reports whether v changes nothing in ph, as most verdicts do. Such a
// verdict needs neither the lock nor the clock.
func (ph *phase) unmoved(v Verdict) bool {
	if ph.state != Closed {
		return false
	}
	switch v {
	case Failure, Fatal:
		return false
	case Success:
		return ph.run.Load() == 0 && !ph.probation.Load()
	default:
		return true
	}
}
