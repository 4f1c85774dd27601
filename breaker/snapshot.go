package breaker

import (
	"encoding/json"
	"time"
)

// Snapshot is the status of a breaker at one moment. State,
// ConsecutiveFailures, Since, Opens and Generation are read together. The
// counters are read one by one.
type Snapshot struct {
	Name  string
	State State
	// Mode is the mode set by [Breaker.Force].
	Mode Mode
	// Reason is why the breaker entered the state. It is empty before the first
	// transition.
	Reason string
	// ConsecutiveFailures is the number of failures since the last success. OPEN
	// and HALF_OPEN keep it.
	ConsecutiveFailures int
	// Since is when the breaker entered the state.
	Since time.Time
	// RetryAfter is how long OPEN or a throttle still refuses calls. It is 0 in
	// the other states, and in OPEN after the cooldown.
	RetryAfter time.Duration
	// Throttled reports that a throttle refuses all calls. ThrottleReason is its
	// reason.
	Throttled      bool
	ThrottleReason string
	// Probation reports that one failure opens the breaker, because the probe was
	// [Tentative], a trip was retracted, or the peer was replaced. Suspect reports
	// the same because of [Breaker.Suspect].
	Probation, Suspect bool
	// ProbeInFlight reports that a probe runs.
	ProbeInFlight bool
	// LastFailure is the reason of the last failure that counted, and
	// LastFailureAt its time. Both are zero if there was none.
	LastFailure   string
	LastFailureAt time.Time
	// Opens is how often the breaker has opened. Generation is the number of
	// states so far.
	Opens, Generation uint64
	// Requests is the number of permits given. Refused is the number of refusals.
	Requests, Refused uint64
	// Successes, Failures and Neutrals count settled permits, including those that
	// were settled too late to matter.
	Successes, Failures, Neutrals uint64
}

// State returns the state. It takes no lock and changes nothing: a breaker
// stays OPEN after its cooldown until a caller acquires.
func (b *Breaker) State() State { return b.phase.Load().state }

// Healthy reports whether calls go through: the breaker is CLOSED and not
// forced open, or it is bypassed. It ignores throttles. It takes no lock and
// reads no clock.
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

// Snapshot returns the status of the breaker. It takes no lock and changes
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

// MarshalJSON implements [json.Marshaler]. Names are in snake case, times in
// RFC 3339, and RetryAfter in whole milliseconds, rounded up. Empty reasons and
// the time of a failure that never happened are omitted.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name                string    `json:"name"`
		State               State     `json:"state"`
		Mode                Mode      `json:"mode"`
		Reason              string    `json:"reason,omitempty"`
		ConsecutiveFailures int       `json:"consecutive_failures"`
		Since               time.Time `json:"since"`
		RetryAfterMS        int64     `json:"retry_after_ms"`
		Throttled           bool      `json:"throttled"`
		ThrottleReason      string    `json:"throttle_reason,omitempty"`
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
