package breaker

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
)

// Defaults of [Settings]. The first three are the seed's (AC-006.2, .4, .5).
const (
	DefaultFailureThreshold = 5
	DefaultCooldown         = 30 * time.Second
	DefaultHalfOpenMax      = 1
	// DefaultProbeLease is five times the client's idle timeout. A probe that
	// hears nothing has reported long before; one that is still running then
	// was lost, or belongs to a call so long that waiting for it would keep
	// everybody else out.
	DefaultProbeLease = 5 * time.Minute
)

// Settings configure a [Breaker]. The zero value works.
type Settings struct {
	// Name is what the breaker guards; it is in logs, refusals and the health
	// view.
	Name string
	// FailureThreshold is how many failures in a row open the breaker.
	// 0 means 5.
	FailureThreshold int
	// Cooldown is how long OPEN lasts: the first Acquire after more than this
	// is the probe. 0 means 30 s.
	Cooldown time.Duration
	// MaxCooldown lets the cooldown double with every cooldown whose probe
	// fails, up to this. A success that is no [Tentative] one makes it short
	// again. 0 means that it does not grow.
	MaxCooldown time.Duration
	// CooldownJitter spreads each cooldown by this share of it to both sides,
	// so that many clients do not probe a peer at the same time: 0.1 is
	// ±10 %, of the longest one too. 0 means none; it has to be below 1.
	CooldownJitter float64
	// EarlyProbe are instants of a cooldown, counted from its start, at which
	// a probe is let through before the cooldown is over: 5 s, 10 s and 20 s
	// bring a peer back sooner after a short outage. When such a probe fails
	// the breaker is OPEN until the next instant, and the cooldown does not
	// start anew. They ascend; those beyond the cooldown are not used. nil
	// means none.
	EarlyProbe []time.Duration
	// HalfOpenMax is how many probes may run at once, and how many must
	// succeed to close the breaker. 0 means 1.
	HalfOpenMax int
	// ProbeLease bounds how long a probe may take to report. After it the
	// probe counts as failed and what it reports later has no effect: a lost
	// probe cannot keep the breaker in HALF_OPEN for ever. 0 means 5 minutes.
	ProbeLease time.Duration
	// CountAll counts every verdict but Success as Failure, the seed's literal
	// "any error" rule. A caller who wants that rule also has to settle with
	// Failure what it would else call a Success with an error (invalid
	// arguments, refused by a living server). Permits that were not used are
	// given back with [Permit.Release], which never counts.
	CountAll bool
	// Logger gets every transition: WARN for the ones to OPEN, INFO for the
	// others. nil logs nothing.
	Logger *slog.Logger
	// OnTransition is told every transition exactly once, in order, one at a
	// time, on a goroutine of its own and under no lock: it may use the
	// breaker and may take its time. nil for none.
	OnTransition func(Transition)
}

// Validate reports what [New] would replace by a default: numbers below zero
// and ones that are too large.
func (s Settings) Validate() error {
	var errs []error
	if s.FailureThreshold < 0 || s.FailureThreshold > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: failure threshold %d: use 1 or more, 0 for %d", s.FailureThreshold, DefaultFailureThreshold))
	}
	if s.Cooldown < 0 {
		errs = append(errs, fmt.Errorf("breaker: cooldown %s: use a positive duration, 0 for %s", s.Cooldown, DefaultCooldown))
	}
	if s.HalfOpenMax < 0 || s.HalfOpenMax > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("breaker: half-open probes %d: use 1 or more, 0 for %d", s.HalfOpenMax, DefaultHalfOpenMax))
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
		errs = append(errs, fmt.Errorf("breaker: probe lease %s: use a positive duration, 0 for %s", s.ProbeLease, DefaultProbeLease))
	}
	return errors.Join(errs...)
}

func (s Settings) withDefaults() Settings {
	if s.FailureThreshold <= 0 || s.FailureThreshold > math.MaxInt32 {
		s.FailureThreshold = DefaultFailureThreshold
	}
	if s.Cooldown <= 0 {
		s.Cooldown = DefaultCooldown
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
	if s.HalfOpenMax <= 0 || s.HalfOpenMax > math.MaxInt32 {
		s.HalfOpenMax = DefaultHalfOpenMax
	}
	if s.ProbeLease <= 0 {
		s.ProbeLease = DefaultProbeLease
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
