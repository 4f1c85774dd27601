package run

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Hedging decides when a call gets a second request, and how many calls do. Its
// methods may be called from many goroutines at once. The zero value is ready for
// use.
type Hedging struct {
	took          resilience.Latency
	calls, hedged atomic.Int64
}

const (
	hedgeQuantile = 0.95
	hedgeSamples  = 100
)

// Started counts a call that may have a second request.
func (h *Hedging) Started() { h.calls.Add(1) }

// Took notes how long a call took that was answered. key is what latencies are kept
// by.
func (h *Hedging) Took(key string, d time.Duration) { h.took.Observe(key, d) }

// Due returns when a second request is due: after fixed, or where that is 0 after as
// long as nearly all calls took. It reports false as long as too few have been seen.
func (h *Hedging) Due(key string, fixed time.Duration) (after time.Duration, ok bool) {
	if fixed > 0 {
		return fixed, true
	}
	after, calls := h.took.Quantile(key, hedgeQuantile)
	return after, calls >= hedgeSamples
}

// Take takes a second request from the share of calls that may have one.
func (h *Hedging) Take(share float64) bool {
	if n := h.hedged.Add(1); float64(n) > max(1, share*float64(h.calls.Load())) {
		h.Return()
		return false
	}
	return true
}

// Return gives back a second request that was not sent.
func (h *Hedging) Return() { h.hedged.Add(-1) }
