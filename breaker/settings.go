package breaker

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
)

// Defaults of [Settings].
const (
	defaultFailureThreshold = 5
	defaultCooldown         = 30 * time.Second
	defaultHalfOpenMax      = 1
	// defaultProbeLease is five times the idle timeout of a client. A probe
	// without an answer fails long before that. A probe that still runs after it
	// is lost, or is such a long call that others should not wait for it.
	defaultProbeLease = 5 * time.Minute
)

// Settings configure a [Breaker]. The zero value uses the defaults.
//
// # Experimental
//
// MaxCooldown, CooldownJitter, EarlyProbe, EarlyFor, HalfOpenMax, ProbeLease and CountAll
// may change.
type Settings struct {
	// Name is the name of the peer in logs, refusals and health reports.
	Name string
	// FailureThreshold is the number of failures in a row that opens the breaker.
	// 0 means 5.
	FailureThreshold int
	// Cooldown is how long OPEN lasts. The first Acquire after it is the probe. 0
	// means 30 s.
	Cooldown time.Duration
	// MaxCooldown is the upper limit of a growing cooldown, which doubles each
	// time the probe fails. A success that is not [Tentative] resets it to
	// Cooldown. 0 means that the cooldown does not grow.
	MaxCooldown time.Duration
	// CooldownJitter spreads each cooldown at random by this fraction in both
	// directions, so that many clients do not probe at the same time. For example,
	// 0.1 means ±10 %, also of MaxCooldown. It must be below 1. 0 means no jitter.
	CooldownJitter float64
	// EarlyProbe lists times since the start of a cooldown at which a probe may
	// run before the cooldown ends. For example, 5 s, 10 s and 20 s shorten the
	// recovery from a short outage. If an early probe fails, the breaker stays
	// OPEN until the next time on the list, and the cooldown does not restart. The
	// times must ascend; times after the cooldown are ignored. nil means no early
	// probes.
	EarlyProbe []time.Duration
	// EarlyFor limits EarlyProbe to failures with one of these reasons, as given to
	// [Permit.SettleFor]. For example, a refused connection can be probed early
	// without harm. The reason of the last failure decides: of the one that opened
	// the breaker, then of each probe. nil means failures of any reason.
	EarlyFor []string
	// HalfOpenMax is how many probes may run at the same time, and how many must
	// succeed to close the breaker. 0 means 1.
	HalfOpenMax int
	// ProbeLease limits how long a probe may take. After that time the probe
	// counts as failed, and its verdict is ignored. A lost probe therefore cannot
	// keep the breaker in HALF_OPEN forever. 0 means 5 minutes.
	ProbeLease time.Duration
	// CountAll counts every verdict except Success as a Failure. Callers that use
	// it must also settle with Failure where they otherwise report Success for an
	// error from a living server, such as invalid arguments. [Permit.Release]
	// never counts.
	CountAll bool
	// Logger logs transitions: those to OPEN at WARN, the others at INFO. nil logs
	// nothing.
	Logger *slog.Logger
	// OnTransition is called exactly once for each transition, in order, one call
	// at a time. It runs on its own goroutine without a lock, so it may use the
	// breaker and may block. nil means no callback.
	OnTransition func(Transition)
}

// Validate returns an error for values that [New] replaces by a default:
// negative values and values that are too large.
func (s Settings) Validate() error {
	var errs []error
	if s.FailureThreshold < 0 || s.FailureThreshold > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: failure threshold %d: use 1 or more, 0 for %d", s.FailureThreshold, defaultFailureThreshold))
	}
	if s.Cooldown < 0 {
		errs = append(errs, fmt.Errorf("breaker: cooldown %s: use a positive duration, 0 for %s", s.Cooldown, defaultCooldown))
	}
	if s.HalfOpenMax < 0 || s.HalfOpenMax > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: half-open probes %d: use 1 or more, 0 for %d", s.HalfOpenMax, defaultHalfOpenMax))
	}
	if s.MaxCooldown < 0 {
		errs = append(errs, fmt.Errorf("breaker: longest cooldown %s: use a positive duration, 0 for one that does not grow", s.MaxCooldown))
	}
	if !(s.CooldownJitter >= 0 && s.CooldownJitter < 1) {
		errs = append(errs, fmt.Errorf("breaker: cooldown jitter %g: use 0 or more and less than 1", s.CooldownJitter))
	}
	if !ascending(s.EarlyProbe) {
		errs = append(errs, fmt.Errorf("breaker: early probes at %s: use positive durations that ascend", s.EarlyProbe))
	}
	if s.ProbeLease < 0 {
		errs = append(errs, fmt.Errorf("breaker: probe lease %s: use a positive duration, 0 for %s", s.ProbeLease, defaultProbeLease))
	}
	return errors.Join(errs...)
}

func (s Settings) withDefaults() Settings {
	if s.FailureThreshold <= 0 || s.FailureThreshold > math.MaxInt32 {
		s.FailureThreshold = defaultFailureThreshold
	}
	if s.Cooldown <= 0 {
		s.Cooldown = defaultCooldown
	}
	s.MaxCooldown = max(s.MaxCooldown, 0)
	if !(s.CooldownJitter >= 0 && s.CooldownJitter < 1) {
		s.CooldownJitter = 0
	}
	if ascending(s.EarlyProbe) {
		s.EarlyProbe = slices.Clone(s.EarlyProbe)
	} else {
		s.EarlyProbe = nil
	}
	s.EarlyFor = slices.Clone(s.EarlyFor)
	if s.HalfOpenMax <= 0 || s.HalfOpenMax > math.MaxInt32 {
		s.HalfOpenMax = defaultHalfOpenMax
	}
	if s.ProbeLease <= 0 {
		s.ProbeLease = defaultProbeLease
	}
	return s
}

func ascending(ds []time.Duration) bool {
	last := time.Duration(0)
	for _, d := range ds {
		if d <= last {
			return false
		}
		last = d
	}
	return true
}
