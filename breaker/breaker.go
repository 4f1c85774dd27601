package breaker

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breaker guards one peer. Its methods may be called from many goroutines at
// once. Make it with [New].
type Breaker struct {
	set    Settings
	engine *gobreaker.TwoStepCircuitBreaker[struct{}]

	// phase is where the breaker stands. It is replaced under the engine's
	// lock and read without one.
	phase atomic.Pointer[phase]
	// told is the last phase whose beginning was published; telling is true
	// while a goroutine publishes.
	told    atomic.Pointer[phase]
	telling atomic.Bool

	requests  atomic.Uint64
	successes atomic.Uint64
	failures  atomic.Uint64
	neutrals  atomic.Uint64
	refused   atomic.Uint64
}

// phase is one stay in one state. All but run and next is fixed at its start.
type phase struct {
	state State
	from  State
	gen   uint64
	opens uint64
	since time.Time
	// until is the last instant at which OPEN refuses.
	until time.Time
	// began is the run of failures at the start of the phase.
	began uint32
	// run is the run of failures now. It is written under the engine's lock.
	run atomic.Uint32
	// refusal is what Acquire returns in this phase, made once so that
	// refusing costs nothing.
	refusal *OpenError
	// next is the phase that followed, for publishing in order.
	next atomic.Pointer[phase]
}

// New makes a breaker in CLOSED. Values that [Settings.Validate] refuses are
// replaced by the defaults. A breaker needs no closing.
func New(s Settings) *Breaker {
	b := &Breaker{set: s.withDefaults()}
	first := &phase{state: Closed, from: Closed, gen: 1, since: time.Now()}
	b.phase.Store(first)
	b.told.Store(first)
	threshold := uint32(b.set.FailureThreshold)
	// The engine calls all of these under its lock, so they do atomics and
	// nothing else; and in IsExcluded, IsSuccessful, ReadyToTrip order, for
	// settlements of the current generation only.
	b.engine = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        b.set.Name,
		MaxRequests: uint32(b.set.HalfOpenMax),
		// A window would forget failures that are further apart than it is
		// long: five calls in a row that each time out after 30 s would never
		// open the breaker.
		Interval:   0,
		Timeout:    b.set.Cooldown,
		IsExcluded: func(err error) bool { return errors.Is(err, errNeutral) },
		IsSuccessful: func(err error) bool {
			if err != nil {
				return false
			}
			if run := &b.phase.Load().run; run.Load() != 0 {
				run.Store(0)
			}
			return true
		},
		ReadyToTrip: func(c gobreaker.Counts) bool {
			b.phase.Load().run.Store(c.ConsecutiveFailures)
			return c.ConsecutiveFailures >= threshold
		},
		OnStateChange: func(_ string, from, to gobreaker.State) { b.enter(stateOf(from), stateOf(to)) },
	})
	return b
}

// Name returns the name given in the settings.
func (b *Breaker) Name() string { return b.set.Name }

// CountAll reports whether every error is to count; see [Settings].
func (b *Breaker) CountAll() bool { return b.set.CountAll }

// Acquire asks for leave to make one call. The permit must be settled; a probe
// that is not settles itself as failed when its lease runs out. A refusal is
// an [*OpenError], which matches [ErrOpen]; it is immediate.
func (b *Breaker) Acquire() (Permit, error) {
	// Refusing here, by our own clock reading and without the engine's lock,
	// also makes sure that the engine is never asked before Until has passed.
	if ph := b.phase.Load(); ph.state == Open && !time.Now().After(ph.until) {
		b.refused.Add(1)
		return Permit{}, ph.refusal
	}
	done, err := b.engine.Allow()
	ph := b.phase.Load()
	if err != nil {
		b.refused.Add(1)
		return Permit{}, b.refusal(ph)
	}
	b.requests.Add(1)
	return b.grant(ph, done), nil
}

// refusal returns the refusal of phase ph. The engine said no before ph was
// read: should the breaker have closed in between, the caller is told what was
// true when it asked.
func (b *Breaker) refusal(ph *phase) *OpenError {
	if ph.refusal != nil {
		return ph.refusal
	}
	return &OpenError{Name: b.set.Name, State: HalfOpen}
}

// enter begins a phase. It runs under the engine's lock.
func (b *Breaker) enter(from, to State) {
	old := b.phase.Load()
	ph := &phase{state: to, from: from, gen: old.gen + 1, opens: old.opens, since: time.Now()}
	switch to {
	case Open:
		ph.opens++
		ph.until = ph.since.Add(b.set.Cooldown)
		ph.began = old.run.Load()
		if from == HalfOpen {
			ph.began++ // the probe's own failure
		}
	case HalfOpen:
		ph.began = old.run.Load()
	case Closed:
	}
	ph.run.Store(ph.began)
	if to != Closed {
		ph.refusal = &OpenError{Name: b.set.Name, State: to, Until: ph.until}
	}
	b.phase.Store(ph)
	if b.set.Logger != nil || b.set.OnTransition != nil {
		// Without a listener nobody would walk the chain, and the first phase
		// would keep all later ones alive.
		old.next.Store(ph)
		b.publish()
	}
}
