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
	// ConsecutiveFailures is the run of failures since the last success. It
	// is kept through OPEN and HALF_OPEN.
	ConsecutiveFailures int
	// Since is when the state was entered.
	Since time.Time
	// RetryAfter is how long OPEN goes on refusing; 0 in the other states, and
	// in OPEN when the cooldown has passed and nobody has called since.
	RetryAfter time.Duration
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

// Snapshot returns how the breaker stands. It takes no lock and changes
// nothing.
func (b *Breaker) Snapshot() Snapshot {
	ph := b.phase.Load()
	s := Snapshot{
		Name:                b.set.Name,
		State:               ph.state,
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
	return s
}

// MarshalJSON implements [json.Marshaler] with snake-case names, Since in RFC
// 3339 and RetryAfter in whole milliseconds, rounded up.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name                string    `json:"name"`
		State               State     `json:"state"`
		ConsecutiveFailures int       `json:"consecutive_failures"`
		Since               time.Time `json:"since"`
		RetryAfterMS        int64     `json:"retry_after_ms"`
		Opens               uint64    `json:"opens"`
		Generation          uint64    `json:"generation"`
		Requests            uint64    `json:"requests"`
		Refused             uint64    `json:"refused"`
		Successes           uint64    `json:"successes"`
		Failures            uint64    `json:"failures"`
		Neutrals            uint64    `json:"neutrals"`
	}{
		s.Name, s.State, s.ConsecutiveFailures, s.Since.UTC(),
		int64((s.RetryAfter + time.Millisecond - 1) / time.Millisecond),
		s.Opens, s.Generation, s.Requests, s.Refused, s.Successes, s.Failures, s.Neutrals,
	})
}
