package breaker

import (
	"errors"
	"sync/atomic"
	"time"
)

// Permit is the leave to make one call. It is a value: copies are the same
// permit. The zero Permit belongs to no breaker and settling it does nothing.
type Permit struct{ p *permit }

type permit struct {
	b       *Breaker
	phase   *phase
	done    func(error)
	lease   *time.Timer // of a probe, nil else
	settled atomic.Bool
}

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
	if v == Neutral && p.p.b.set.CountAll {
		v = Failure
	}
	p.p.end(v)
}

// Release gives back a permit whose call was never made. It is Neutral, with
// [Settings.CountAll] too.
func (p Permit) Release() {
	if p.p != nil {
		p.p.end(Neutral)
	}
}

// grant makes the permit for a call that the engine admitted. ph was read
// after that, so it may be a later phase than the permit's own, and then
// end drops the settlement, or the engine does by its own generation.
func (b *Breaker) grant(ph *phase, done func(error)) Permit {
	p := &permit{b: b, phase: ph, done: done}
	if ph.state == HalfOpen {
		p.lease = time.AfterFunc(b.set.ProbeLease, func() { p.settle(Failure) })
	}
	return Permit{p}
}

func (p *permit) end(v Verdict) {
	if p.settle(v) && p.lease != nil {
		p.lease.Stop()
	}
}

// settle reports v once. It returns false when the permit was settled before.
// It leaves p.lease alone: the timer may fire before the field is set.
func (p *permit) settle(v Verdict) bool {
	if !p.settled.CompareAndSwap(false, true) {
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
	if b.phase.Load() == p.phase && p.phase.state != Open {
		p.done(err)
	}
	return true
}
