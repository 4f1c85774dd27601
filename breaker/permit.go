package breaker

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Permit is the leave to make one call. It is a value: copies are the same
// permit. The zero Permit belongs to no breaker and settling it does nothing.
type Permit struct {
	b    *Breaker
	p    *permit
	turn uint64
}

// permit is the part of a permit that its copies share. It is used again by
// another permit, at another turn, once it was settled.
type permit struct {
	phase *phase
	done  func(error)
	lease *time.Timer // of a probe, nil else
	// turn goes up by one with each settlement, so that what was settled
	// cannot be settled again.
	turn atomic.Uint64
}

// permits keeps settled permits for reuse: a call through a breaker that is
// CLOSED allocates nothing here.
var permits = sync.Pool{New: func() any { return new(permit) }}

var (
	errFailure = errors.New("failure")
	errNeutral = errors.New("neutral")
)

// Settle reports what the call showed. Only the first settlement counts, and
// only while the breaker is still in the generation that gave the permit: the
// slow success of a call from before the breaker opened does not close it.
func (p Permit) Settle(v Verdict) {
	if p.p == nil {
		return
	}
	if v == Neutral && p.b.set.CountAll {
		v = Failure
	}
	p.settle(v)
}

// Release gives back a permit whose call was never made. It is Neutral, with
// [Settings.CountAll] too.
func (p Permit) Release() {
	if p.p != nil {
		p.settle(Neutral)
	}
}

// grant makes the permit for a call that the engine admitted. ph was read
// after that, so it may be a later phase than the permit's own, and then
// settle drops the settlement, or the engine does by its own generation.
func (b *Breaker) grant(ph *phase, done func(error)) Permit {
	if ph.state == HalfOpen {
		// Not from the pool: the timer may fire before the field is set.
		p := Permit{b: b, p: &permit{phase: ph, done: done}}
		p.p.lease = time.AfterFunc(b.set.ProbeLease, func() { p.report(Failure) })
		return p
	}
	p := permits.Get().(*permit)
	p.phase, p.done = ph, done
	return Permit{b: b, p: p, turn: p.turn.Load()}
}

// settle reports v, and ends the lease of a probe or gives the permit back.
func (p Permit) settle(v Verdict) {
	if !p.report(v) {
		return
	}
	if p.p.lease != nil {
		p.p.lease.Stop()
		return
	}
	p.p.phase, p.p.done = nil, nil
	permits.Put(p.p)
}

// report reports v once. It returns false when the permit was settled before.
func (p Permit) report(v Verdict) bool {
	if !p.p.turn.CompareAndSwap(p.turn, p.turn+1) {
		return false
	}
	b := p.b
	var err error
	switch v {
	case Success:
		b.successes.Add(1)
	case Neutral:
		b.neutrals.Add(1)
		err = errNeutral
	case Failure:
		b.failures.Add(1)
		err = errFailure
	default: // a verdict that does not exist proves nothing
		b.neutrals.Add(1)
		err = errNeutral
	}
	// The engine drops what comes too late as well, but would move from OPEN to
	// HALF_OPEN on the way when the cooldown has passed; only Acquire may.
	if b.phase.Load() == p.p.phase && p.p.phase.state != Open {
		p.p.done(err)
	}
	return true
}
