package breaker

import (
	"encoding/json"
	"time"
)

// Snapshot is how a breaker stands at one moment. State, ConsecutiveFailures,
// Since, Opens and Generation belong together; the counters are read one by
// one beside them.
type Snapshot struct {
	Name  string
	State State
	// Mode is what [Breaker.Force] has set.
	Mode Mode
	// Reason is why the state was entered; empty before the first transition.
	Reason string
	// ConsecutiveFailures is the run of failures since the last success. It
	// is kept through OPEN and HALF_OPEN.
	ConsecutiveFailures int
	// Since is when the state was entered.
	Since time.Time
	// RetryAfter is how long OPEN or a hold goes on refusing; 0 in the other
	// states, and in OPEN when the cooldown has passed and nobody has called
	// since.
	RetryAfter time.Duration
	// Throttled says that a hold refuses every call, ThrottleReason why.
	Throttled      bool
	ThrottleReason string
	// Probation says that one failure opens the breaker again, because the
	// probe was [Tentative] or a trip was retracted; Suspect that it does because of [Breaker.Suspect].
	Probation, Suspect bool
	// ProbeInFlight says that HALF_OPEN waits for a verdict.
	ProbeInFlight bool
	// LastFailure is the reason given with the last failure that counted,
	// LastFailureAt when that was; zero when there was none.
	LastFailure   string
	LastFailureAt time.Time
	// Opens is how often the breaker has opened, Generation how many states it
	// has been in.
	Opens, Generation uint64
	// Requests is how many permits were given, Refused how many were not.
	Requests, Refused uint64
	// Successes, Failures and Neutrals are the settled permits, the ones that
	// came too late to matter included.
	Successes, Failures, Neutrals uint64
}

// State returns the state as it is. It takes no lock and changes nothing: a
// breaker whose cooldown has passed is OPEN until somebody acquires.
func (b *Breaker) State() State { return b.phase.Load().state }

// Healthy reports whether calls go through as far as circuit and mode are
// concerned: CLOSED and not forced open, or bypassed. It takes no lock and
// reads no clock; a hold it does not look at.
func (b *Breaker) Healthy() bool {
	switch Mode(b.mode.Load()) {
	case Bypass:
		return true
	case ForcedOpen:
		return false
	default:
		return b.State() == Closed
	}
}

// Snapshot returns how the breaker stands. It takes no lock and changes
// nothing.
func (b *Breaker) Snapshot() Snapshot {
	ph := b.phase.Load()
	s := Snapshot{
		Name:                b.set.Name,
		State:               ph.state,
		Mode:                Mode(b.mode.Load()),
		Reason:              ph.reason,
		Probation:           ph.probation.Load(),
		Suspect:             b.suspected(),
		ProbeInFlight:       ph.out.Load() > 0,
		ConsecutiveFailures: int(ph.run.Load()),
		Since:               ph.since,
		Opens:               ph.opens,
		Generation:          ph.gen,
		Requests:            b.requests.Load(),
		Refused:             b.refused.Load(),
		Successes:           b.successes.Load(),
		Failures:            b.failures.Load(),
		Neutrals:            b.neutrals.Load(),
	}
	if ph.state == Open {
		s.RetryAfter = max(0, time.Until(ph.until))
	}
	if g := b.holding(); g != nil {
		s.Throttled, s.ThrottleReason = true, g.reason
		s.RetryAfter = max(s.RetryAfter, time.Until(g.until))
	}
	if f := b.failed.Load(); f != nil {
		s.LastFailure, s.LastFailureAt = f.reason, f.at
	}
	return s
}

// MarshalJSON implements [json.Marshaler] with snake-case names, times in RFC
// 3339 and RetryAfter in whole milliseconds, rounded up. What is empty about
// reasons, and the time of a failure that never was, is left out.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name                string    `json:"name"`
		State               State     `json:"state"`
		Mode                Mode      `json:"mode"`
		Reason              string    `json:"reason,omitempty"`
		ConsecutiveFailures int       `json:"consecutive_failures"`
		Since               time.Time `json:"since"`
		RetryAfterMS        int64     `json:"retry_after_ms"`
		Held                bool      `json:"held"`
		ThrottleReason      string    `json:"hold_reason,omitempty"`
		Probation           bool      `json:"probation"`
		Suspect             bool      `json:"suspect"`
		ProbeInFlight       bool      `json:"probe_in_flight"`
		LastFailure         string    `json:"last_failure,omitempty"`
		LastFailureAt       time.Time `json:"last_failure_at,omitzero"`
		Opens               uint64    `json:"opens"`
		Generation          uint64    `json:"generation"`
		Requests            uint64    `json:"requests"`
		Refused             uint64    `json:"refused"`
		Successes           uint64    `json:"successes"`
		Failures            uint64    `json:"failures"`
		Neutrals            uint64    `json:"neutrals"`
	}{
		s.Name, s.State, s.Mode, s.Reason, s.ConsecutiveFailures, s.Since.UTC(),
		int64((s.RetryAfter + time.Millisecond - 1) / time.Millisecond),
		s.Throttled, s.ThrottleReason, s.Probation, s.Suspect, s.ProbeInFlight, s.LastFailure, s.LastFailureAt.UTC(),
		s.Opens, s.Generation, s.Requests, s.Refused, s.Successes, s.Failures, s.Neutrals,
	})
}
