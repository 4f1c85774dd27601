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
	// State is OPEN, or HALF_OPEN while the probe is under way.
	State State
	// Until is the last instant at which OPEN refuses, zero in HALF_OPEN: how
	// long a probe takes is not known.
	Until time.Time
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
