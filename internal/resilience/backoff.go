package resilience

import "time"

// Backoff is an exponential wait with full jitter: any time up to a bound that
// doubles, so that those who failed together do not come back together
// (resilience.md §3.7).
type Backoff struct {
	// Base bounds the first wait, Cap all of them.
	Base, Cap time.Duration
}

// The waits before a call is made again.
var (
	retryBackoff    = Backoff{Base: 100 * time.Millisecond, Cap: 20 * time.Second}
	throttleBackoff = Backoff{Base: time.Second, Cap: 20 * time.Second}
)

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
