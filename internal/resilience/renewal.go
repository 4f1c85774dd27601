package resilience

import "time"

// RenewalSettings are the times of [Renewal]. Zero members mean the defaults.
type RenewalSettings struct {
	// Free is the number of tries without a delay, as after a restart of the server; 0 means 2.
	Free int
	// Backoff limits the delays between later tries; 0 means 250 ms, doubling to 30 s.
	Backoff Backoff
	// ResetAfter is the time without a try that resets the count; 0 means 60 s.
	ResetAfter time.Duration
	// Lasting is the lifetime of a session that resets the count as well, since its server has
	// restarted; 0 means 1 s.
	Lasting time.Duration
}

// Renewal is the schedule of session renewals. One goroutine at a time may use it. Failed and
// successful tries count alike: a server that loses each session at once must not get many. A
// server that restarts repeatedly gets a new session at once each time.
type Renewal struct {
	set   RenewalSettings
	began time.Time // start of the last try
	tries int       // tries in a row, without a pause or a lasting session between them
	next  time.Time // earliest time of the next try
	open  bool      // the last try opened a session that is not known to be lost
}

// NewRenewal returns the schedule of a session that was not lost yet.
func NewRenewal(s RenewalSettings) *Renewal {
	if s.Backoff == (Backoff{}) {
		s.Backoff = Backoff{Base: 250 * time.Millisecond, Cap: 30 * time.Second}
	}
	if s.ResetAfter <= 0 {
		s.ResetAfter = time.Minute
	}
	if s.Lasting <= 0 {
		s.Lasting = time.Second
	}
	s.Free = orDefault(s.Free, 2)
	return &Renewal{set: s}
}

// Lost records that the session is lost, and returns the delay before the next try.
func (r *Renewal) Lost(now time.Time) time.Duration {
	if r.open && now.Sub(r.began) > r.set.Lasting {
		r.tries, r.next = 0, time.Time{}
	}
	r.open = false
	return r.Wait(now)
}

// Tried counts a try that reached the network. opened is set if it opened a session. random is
// from [0, 1).
func (r *Renewal) Tried(began time.Time, opened bool, random float64) {
	if began.Sub(r.began) > r.set.ResetAfter {
		r.tries = 0
	}
	r.began, r.open = began, opened
	if r.tries++; r.tries > r.set.Free {
		r.next = began.Add(r.set.Backoff.Wait(r.tries-r.set.Free-1, random))
	}
}

// Wait returns the delay before the next try, 0 for none.
func (r *Renewal) Wait(now time.Time) time.Duration { return max(0, r.next.Sub(now)) }

// Pause returns the delay before the n-th try of a caller that retries until one succeeds, n
// counted from 1.
func (r *Renewal) Pause(n int, random float64) time.Duration {
	return r.set.Backoff.Wait(n-1, random)
}

// Longest returns the maximum of all delays.
func (r *Renewal) Longest() time.Duration { return r.set.Backoff.Cap }
