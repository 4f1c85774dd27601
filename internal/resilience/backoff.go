package resilience

import "time"

// Backoff is an exponential delay with full jitter: a random time up to a limit that doubles, so
// that callers that failed together do not retry together.
type Backoff struct {
	// Base limits the first delay, Cap all of them.
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

// throttledPause is the minimum limit of the first pause after a server was throttled.
const throttledPause = time.Second

// or returns b with the values of usual for zero members.
func (b Backoff) or(usual Backoff) Backoff {
	if b.Base <= 0 {
		b.Base = usual.Base
	}
	if b.Cap <= 0 {
		b.Cap = max(usual.Cap, b.Base)
	}
	return b
}

// Bound returns the limit of the n-th delay, counted from 0.
func (b Backoff) Bound(n int) time.Duration {
	bound := b.Base
	for ; n > 0 && bound < b.Cap; n-- {
		bound *= 2
		if bound <= 0 { // overflow
			return b.Cap
		}
	}
	return min(bound, b.Cap)
}

// Wait returns the n-th delay. random is from [0, 1).
func (b Backoff) Wait(n int, random float64) time.Duration {
	return scaled(b.Bound(n), random)
}

// scaled returns d times random, which is clamped to [0, 1].
func scaled(d time.Duration, random float64) time.Duration {
	if !(random > 0) { // also for NaN
		return 0
	}
	return time.Duration(float64(max(d, 0)) * min(random, 1))
}
