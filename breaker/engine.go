package breaker

import (
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"
)

var (
	errFailure = errors.New("failure")
	errNeutral = errors.New("neutral")
)

// newEngine returns an engine that counts. Its callbacks run under the engine's
// lock. They also run under b.mu, because the engine is only used under b.mu.
func (b *Breaker) newEngine() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	threshold := uint32(b.set.FailureThreshold)
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        b.set.Name,
		MaxRequests: uint32(b.set.HalfOpenMax),
		// No window: it would forget failures that are further apart than its
		// length. Five calls in a row that each time out after 30 s would never
		// open the breaker.
		Interval: 0,
		// The engine's cooldown cannot change and cannot be read, so it is as short
		// as possible. The phase's until decides: the engine is not used before it.
		Timeout:      time.Nanosecond,
		IsExcluded:   func(err error) bool { return errors.Is(err, errNeutral) },
		IsSuccessful: func(err error) bool { return err == nil },
		ReadyToTrip: func(c gobreaker.Counts) bool {
			b.phase.Load().run.Store(c.ConsecutiveFailures)
			return b.sharp || c.ConsecutiveFailures >= threshold
		},
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { b.moved = true },
	})
}

// counting returns the engine, and makes it on first use: most breakers never see
// a failure. Requires b.mu.
func (b *Breaker) counting() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	if b.engine == nil {
		b.engine = b.newEngine()
	}
	return b.engine
}

// probe asks the engine for a probe. Only here OPEN becomes HALF_OPEN.
func (b *Breaker) probe() (Permit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ph := b.phase.Load() // it may have changed before the lock was taken
	if err := b.refusal(ph); err != nil {
		b.refused.Add(1)
		return Permit{}, err
	}
	switch {
	case Mode(b.mode.Load()) == Bypass:
		return b.grant(nil), nil
	case ph.state == Closed:
		return b.grant(ph), nil
	}
	b.moved = false
	report, err := b.counting().Allow()
	if err != nil {
		b.refused.Add(1)
		return Permit{}, &ph.refusal
	}
	if b.moved {
		ph = b.begin(HalfOpen, "cooldown over")
	}
	ph.report = report
	ph.taken.Add(1)
	ph.out.Add(1)
	return b.grantProbe(ph), nil
}

// settle applies the verdict of a permit. A verdict of an earlier generation has no
// effect and does not reach the engine, which it would move from OPEN to HALF_OPEN.
// Requires b.mu.
func (b *Breaker) settle(ph *phase, v Verdict, reason string) {
	if b.phase.Load() != ph {
		return
	}
	if ph.state == HalfOpen {
		ph.out.Add(-1)
	}
	switch v {
	case Success, Tentative:
		b.succeed(ph, v == Success)
	case Failure, Fatal:
		b.fail(ph, v == Fatal, reason)
	default: // an unknown verdict proves nothing
		if ph.state == HalfOpen {
			ph.taken.Add(-1)
			b.tellEngine(ph, errNeutral)
		}
	}
}

func (b *Breaker) succeed(ph *phase, proof bool) {
	switch {
	case ph.state == HalfOpen:
		ph.proved = ph.proved || proof
		ph.run.Store(0)
		if b.tellEngine(ph, nil) {
			b.begin(Closed, "probe succeeded")
		}
	case proof:
		b.tellEngine(ph, nil)
		ph.run.Store(0)
		ph.probation.Store(false)
	}
}

func (b *Breaker) fail(ph *phase, fatal bool, cause string) {
	b.failed.Store(&failure{reason: cause, at: time.Now()})
	probation, suspected := ph.probation.Load(), b.suspected()
	b.cause = cause
	b.sharp = fatal || probation || suspected
	if !b.tellEngine(ph, errFailure) {
		return
	}
	var reason string
	switch {
	case ph.state == HalfOpen:
		ph.run.Add(1) // the engine does not count in HALF_OPEN
		reason = "probe failed"
	case fatal:
		reason = "fatal failure"
	case probation:
		reason = "failure in probation"
	case suspected:
		reason = "failure under suspicion"
	default:
		reason = "failures in a row"
	}
	if cause != "" {
		reason += ": " + cause
	}
	b.begin(Open, reason)
}

// tellEngine reports a verdict of the current generation to the engine and returns
// whether the engine changed its state. One permission of the engine allows any
// number of reports, so a generation asks once, not for each call of CLOSED.
func (b *Breaker) tellEngine(ph *phase, err error) bool {
	b.moved = false
	if ph.report == nil {
		report, refused := b.counting().Allow()
		if refused != nil { // never in CLOSED
			return false
		}
		ph.report = report
	}
	ph.report(err)
	return b.moved
}
