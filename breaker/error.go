package breaker

import (
	"errors"
	"time"
)

// ErrOpen is matched by every refusal of [Breaker.Acquire], in OPEN and in
// HALF_OPEN.
var ErrOpen = errors.New("Service temporarily unavailable (circuit open)") //nolint:staticcheck // the seed fixes the text (AC-006.3)

// OpenError is a refusal. It matches [ErrOpen]. It is shared between callers
// and must not be changed.
type OpenError struct {
	// Name is the breaker's name.
	Name string
	// State is OPEN, or HALF_OPEN while the probe is under way. A hold also
	// refuses in CLOSED.
	State State
	// Until is the last instant at which OPEN refuses, or the end of the hold
	// when that is later. It is zero in HALF_OPEN without a hold (how long a
	// probe takes is not known), and when forced open.
	Until time.Time
	// Throttled says that [Breaker.Throttle] refuses, Forced that [Breaker.Force] does.
	Throttled, Forced bool
	// Reason is why the state was entered, or the one given with the hold.
	Reason string
}

// Error returns the text of AC-006.3.
func (e *OpenError) Error() string { return ErrOpen.Error() }

// Unwrap lets errors.Is find [ErrOpen].
func (e *OpenError) Unwrap() error { return ErrOpen }

// RetryAfter is how long to wait from now until a call may go through; 0 when
// that is already so, or not known. It is a method, so that a refusal costs no
// allocation and stays right however long the error is kept.
func (e *OpenError) RetryAfter() time.Duration {
	if e.Until.IsZero() {
		return 0
	}
	return max(0, time.Until(e.Until))
}
