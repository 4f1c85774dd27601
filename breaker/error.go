package breaker

import (
	"errors"
	"time"
)

// ErrOpen matches every refusal of [Breaker.Acquire], in every state.
var ErrOpen = errors.New("Service temporarily unavailable (circuit open)") //nolint:staticcheck // applications compare the text

// OpenError is the error of a refused call. It matches [ErrOpen]. Callers share
// the value and must not change it.
type OpenError struct {
	// Name is the name of the breaker.
	Name string
	// State is the state of the breaker. It is CLOSED only if a throttle or an
	// operator refuses the call.
	State State
	// Until is the end of the cooldown, or the end of the throttle if that is
	// later. It is zero if the end is unknown: in HALF_OPEN without a throttle,
	// and in mode [ForcedOpen].
	Until time.Time
	// Throttled reports that [Breaker.Throttle] refuses the call, Forced that
	// [Breaker.Force] does.
	Throttled, Forced bool
	// Reason is why the breaker entered the state, or the reason of the throttle.
	Reason string
}

// Error returns the text of [ErrOpen].
func (e *OpenError) Error() string { return ErrOpen.Error() }

// Unwrap returns [ErrOpen].
func (e *OpenError) Unwrap() error { return ErrOpen }

// RetryAfter returns the time from now until a call may go through. It returns
// 0 if that time has passed or is unknown.
func (e *OpenError) RetryAfter() time.Duration {
	if e.Until.IsZero() {
		return 0
	}
	return max(0, time.Until(e.Until))
}
