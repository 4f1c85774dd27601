package resilience

import "time"

// Backoff is an exponential wait with full jitter: a random time up to a bound that
// doubles, so that callers that failed together do not come back together.
type Backoff struct {
	// Base bounds the first wait, Cap all of them.
	Base, Cap time.Duration
}

// The default pauses before a program is restarted.
const (
	firstRestartPause = 250 * time.Millisecond
	maxRestartPause   = 30 * time.Second
)

// The default pauses before a retry and before a program is restarted.
var (
	retryPauses   = Backoff{Base: 100 * time.Millisecond, Cap: 20 * time.Second}
	restartPauses = Backoff{Base: firstRestartPause, Cap: maxRestartPause}
)

// throttledPause is what the first pause is bounded by at least, after a server that is
// asked too often.
const throttledPause = time.Second

// or returns b with the members of usual where its own are zero.
func (b Backoff) or(usual Backoff) Backoff {
	if b.Base <= 0 {
		b.Base = usual.Base
	}
	if b.Cap <= 0 {
		b.Cap = max(usual.Cap, b.Base)
	}
	return b
}

// Bound returns what the n-th wait is shorter than, n counted from 0.
func (b Backoff) Bound(n int) time.Duration {
	bound := b.Base
	for ; n > 0 && bound < b.Cap; n-- {
		bound *= 2
		if bound <= 0 { // more than a Duration holds
			return b.Cap
		}
	}
	return min(bound, b.Cap)
}

// Wait returns the n-th wait. random is from [0, 1).
func (b Backoff) Wait(n int, random float64) time.Duration {
	return scaled(b.Bound(n), random)
}

// scaled returns d times random, which is forced into [0, 1].
func scaled(d time.Duration, random float64) time.Duration {
	if !(random > 0) { // not a number, too
		return 0
	}
	return time.Duration(float64(max(d, 0)) * min(random, 1))
}
