package family

import "time"

// A Quota is the state of a rate limit for one call; over HTTP it becomes the
// X-RateLimit headers of the answer. The zero value is no limit.
type Quota struct {
	// Refused says that the call must not run.
	Refused bool
	// Scope names the limit that is the nearest: agent, global or burst.
	Scope string
	// Limit and Remaining are in calls a window.
	Limit, Remaining int
	// Reset is when Remaining grows again.
	Reset time.Time
	// RetryAfter is how long a refused caller should wait.
	RetryAfter time.Duration
}
