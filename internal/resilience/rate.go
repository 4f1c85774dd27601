package resilience

import (
	"sync"
	"time"
)

// Rate limits the requests per second, with bursts. Its methods may be called from many
// goroutines at once.
type Rate struct {
	every time.Duration // interval between two requests
	burst time.Duration // how far ahead of the schedule a request may be

	mu   sync.Mutex
	next time.Time // when the next request is scheduled
}

// NewRate returns a limit of perSecond requests per second. burst is the size of a burst, from 1
// to a million. perSecond must be above 0; less than one per hour counts as one per hour, and
// above 10⁹ there is no limit.
func NewRate(perSecond float64, burst int) *Rate {
	every := time.Duration(min(float64(time.Second)/perSecond, float64(time.Hour)))
	return &Rate{every: every, burst: time.Duration(min(max(burst, 1), 1e6)-1) * every}
}

// Reserve takes the next place in the schedule, in the order of the calls, and returns how long
// to wait for it. If that is more than most, it takes nothing, and ok is false.
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

// Return returns a reserved place that was not used. Later reservations keep theirs: the next
// Reserve gets it.
func (r *Rate) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = r.next.Add(-r.every)
}
