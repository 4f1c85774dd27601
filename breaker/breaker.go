package breaker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Breaker guards one peer. Use [New] to make one; it needs no Close. A Breaker
// is safe for concurrent use.
type Breaker struct {
	set Settings

	// Every call reads these; only changes of state write them.
	phase   atomic.Pointer[phase]
	gate    atomic.Pointer[gate] // nil: no throttle
	mode    atomic.Uint32
	suspect atomic.Pointer[time.Time] // until when one failure opens
	failed  atomic.Pointer[failure]   // the last one that counted
	held    atomic.Pointer[heldRefusal]
	forced  OpenError

	_ [64]byte // every call writes the counters: they have cache lines of their own

	requests  atomic.Uint64
	successes atomic.Uint64
	failures  atomic.Uint64
	neutrals  atomic.Uint64
	refused   atomic.Uint64

	_ [64]byte

	// published is the last phase whose start was published. telling is true while
	// a goroutine publishes.
	published atomic.Pointer[phase]
	telling   atomic.Bool

	// mu is held while the engine is used and a phase begins, and never during a
	// wait. It guards the fields below.
	mu     sync.Mutex
	engine *gobreaker.TwoStepCircuitBreaker[struct{}] // nil until it is used; see counting
	moved  bool                                       // the engine changed its state since this was last cleared
	sharp  bool                                       // the failure that is being reported opens on its own
	cause  string                                     // the reason of the failure that is being reported
	round  round
}

// New returns a breaker in CLOSED. It replaces values that [Settings.Validate]
// rejects by the defaults.
func New(s Settings) *Breaker {
	s.Logger = callback.Logger(s.Logger, nil)
	b := &Breaker{set: s.withDefaults()}
	b.forced = OpenError{Name: b.set.Name, State: Open, Forced: true, Reason: "forced open"}
	first := &phase{state: Closed, from: Closed, gen: 1, since: time.Now()}
	b.phase.Store(first)
	b.published.Store(first)
	return b
}

// Name returns the name from the settings.
func (b *Breaker) Name() string { return b.set.Name }

// CountAll reports whether [Settings.CountAll] is set.
//
// # Experimental
//
// It may change with the setting.
func (b *Breaker) CountAll() bool { return b.set.CountAll }

// Acquire asks for permission to make one call. The caller must settle the
// permit. A probe that is not settled counts as failed when its lease ends.
// Acquire never blocks. If it refuses, the error is an [*OpenError], which
// matches [ErrOpen].
func (b *Breaker) Acquire() (Permit, error) {
	ph := b.phase.Load()
	if err := b.refusal(ph); err != nil {
		b.refused.Add(1)
		return Permit{}, err
	}
	b.openGate()
	switch {
	case Mode(b.mode.Load()) == Bypass:
		return b.grant(nil), nil
	case ph.state == Closed:
		return b.grant(ph), nil
	default:
		return b.probe()
	}
}

// Peek returns nil if [Breaker.Acquire] may succeed now, and otherwise the
// refusal. Use it before you wait for something else, such as a rate limit, so
// that the wait is not in vain. After the cooldown it returns nil to all
// callers until one of them acquires. It takes no lock and changes no state. A
// refusal counts in Snapshot.Refused.
func (b *Breaker) Peek() error {
	if err := b.refusal(b.phase.Load()); err != nil {
		b.refused.Add(1)
		return err
	}
	return nil
}

// refusal returns the refusal of a call in phase ph now, nil if it may go through.
// In CLOSED without a throttle it does not read the clock.
func (b *Breaker) refusal(ph *phase) *OpenError {
	mode := Mode(b.mode.Load())
	if mode == ForcedOpen {
		return &b.forced
	}
	if g := b.gate.Load(); g != nil && time.Until(g.until) > 0 {
		return b.whileHeld(ph, g)
	}
	if mode == Bypass {
		return nil
	}
	switch {
	case ph.state == Open && time.Until(ph.until) >= 0,
		ph.state == HalfOpen && int(ph.taken.Load()) >= b.set.HalfOpenMax:
		return &ph.refusal
	default:
		return nil
	}
}

// Trip opens the breaker at once, like a [Fatal] failure without a permit. Use
// it for a watcher that has found the peer gone. In HALF_OPEN it ends the
// probe; in OPEN it does nothing. reason appears in the log and in health
// reports. Keep the result if the watcher may turn out to be wrong:
// [Tripped.Retract] takes the trip back.
func (b *Breaker) Trip(reason string) Tripped {
	b.mu.Lock()
	defer b.mu.Unlock()
	ph := b.phase.Load()
	if ph.state == Open {
		return Tripped{}
	}
	b.fail(ph, true, reason)
	return Tripped{b, b.phase.Load().gen}
}

// Suspect lets a single failure open the breaker for d from now. Use it when
// others report that the peer fails, which is not enough to refuse calls. Of
// several calls the latest end counts. A d of 0 or less ends the suspicion.
//
// # Experimental
//
// Package fleet/redis uses it; it may change with that package.
func (b *Breaker) Suspect(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d <= 0 {
		b.suspect.Store(nil)
		return
	}
	until := time.Now().Add(d)
	if old := b.suspect.Load(); old == nil || until.After(*old) {
		b.suspect.Store(&until)
	}
}

// suspected reports whether [Breaker.Suspect] is in force.
func (b *Breaker) suspected() bool {
	until := b.suspect.Load()
	return until != nil && time.Until(*until) > 0
}
