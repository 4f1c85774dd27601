package resilience

import (
	"sync"
	"time"
)

// Rate lets so many requests a second through, and so many at once after a
// pause. Its methods may be called from many goroutines at once.
type Rate struct {
	every time.Duration // between two requests
	burst time.Duration // how far ahead of the schedule one may be

	mu   sync.Mutex
	next time.Time // when the next is due by the schedule
}

// NewRate returns a limit of perSecond requests a second. burst is how many may
// go at once, from 1 to a million. perSecond must be above 0; less than one an
// hour is one an hour, and beyond 10⁹ there is no limit.
func NewRate(perSecond float64, burst int) *Rate {
	every := time.Duration(min(float64(time.Second)/perSecond, float64(time.Hour)))
	return &Rate{every: every, burst: time.Duration(min(max(burst, 1), 1e6)-1) * every}
}

// Reserve takes the next place in the schedule, in the order of the calls, and
// returns how long to wait for it. When that is more than most nothing is taken,
// and ok is false: wait says how long it would have been.
func (r *Rate) Reserve(now time.Time, most time.Duration) (wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next
	if next.Before(now) {
		next = now
	}
	wait = max(0, next.Sub(now)-r.burst)
	if wait > most {
		return wait, false
	}
	r.next = next.Add(r.every)
	return wait, true
}

// Return gives a place back that was reserved and not used. Those who came later
// keep theirs: the next to come gets it.
func (r *Rate) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = r.next.Add(-r.every)
}
