package breaker

import (
	"math/rand/v2"
	"slices"
	"time"
)

// round is one cooldown: OPEN for its whole length, or for parts of it with
// early probes between them.
type round struct {
	begun    time.Time
	cooldown time.Duration
	// level is how many cooldowns in a row ended with a failed probe.
	level int
	// hollow is how many probes in a row closed the breaker although the next
	// verdict was a failure.
	hollow int
}

// after starts a round, or continues the one whose early probe failed, and returns
// the last time at which the breaker refuses. old is the phase that ended at now,
// and cause is the reason of the failure.
func (r *round) after(old *phase, now time.Time, cause string, s *Settings) time.Time {
	early := s.EarlyProbe
	if s.EarlyFor != nil && !slices.Contains(s.EarlyFor, cause) {
		early = nil
	}
	if old.state == HalfOpen {
		if until, ok := r.next(now, early); ok {
			return until
		}
	} else if !old.probation.Load() {
		r.hollow = 0
	} else if old.from == HalfOpen {
		r.hollow++
	}
	if old.state == HalfOpen || old.probation.Load() {
		r.level++
	} else {
		r.level = 0
	}
	r.begun, r.cooldown = now, s.cooldown(r.level)
	until, _ := r.next(now, early)
	return until
}

// next returns the first time after now at which a probe is due, and false if the
// round is over.
func (r *round) next(now time.Time, early []time.Duration) (time.Time, bool) {
	for _, d := range early {
		if at := r.begun.Add(d); d < r.cooldown && at.After(now) {
			return at, true
		}
	}
	end := r.begun.Add(r.cooldown)
	return end, end.After(now)
}

// cooldown returns the length of a cooldown after level failed probes.
func (s *Settings) cooldown(level int) time.Duration {
	d := s.Cooldown
	for range level {
		if d >= s.MaxCooldown/2 {
			d = max(d, s.MaxCooldown)
			break
		}
		d *= 2
	}
	if s.CooldownJitter > 0 {
		d += time.Duration(float64(d) * s.CooldownJitter * (2*rand.Float64() - 1))
	}
	return max(d, 1)
}
