package breaker

import (
	"math/rand/v2"
	"time"
)

// round is one cooldown: OPEN for its whole length, or for parts of it with
// early probes between them.
type round struct {
	begun    time.Time
	cooldown time.Duration
	// level is how many cooldowns in a row ended with a failed probe.
	level int
}

// after begins a round, or goes on with the one whose early probe has failed,
// and returns the last instant at which the breaker refuses. old is the phase
// that ended at now.
func (r *round) after(old *phase, now time.Time, s *Settings) time.Time {
	if old.state == HalfOpen {
		if until, ok := r.next(now, s.EarlyProbe); ok {
			return until
		}
	}
	if old.state == HalfOpen || old.probation.Load() {
		r.level++
	} else {
		r.level = 0
	}
	r.begun, r.cooldown = now, s.cooldown(r.level)
	until, _ := r.next(now, s.EarlyProbe)
	return until
}

// next returns the first instant after now at which a probe is due, false when
// the round is over.
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
