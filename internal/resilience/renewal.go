package resilience

import "time"

// RenewalSettings are the times of [Renewal]. Zero members take the defaults.
type RenewalSettings struct {
	// Free is how many tries wait for nothing: the server has restarted, or has
	// restarted again. 0 means 2.
	Free int
	// Backoff is the wait between later tries; 0 means 250 ms, doubling to 30 s.
	Backoff Backoff
	// Quiet is how long without a try resets the count; 0 means 60 s.
	Quiet time.Duration
	// Lasting is how long a session must have lasted to reset the count as well; 0 means
	// 1 s. Its server has restarted.
	Lasting time.Duration
}

// Renewal is the schedule by which a lost session is opened again. One goroutine
// at a time may use it. Tries that fail count as much as those that succeed: a
// server that forgets each session at once must not see many of them. A server that
// restarts again and again has its new session at once, each time.
type Renewal struct {
	set   RenewalSettings
	began time.Time // of the last try
	tries int       // in a row, without a quiet time or a lasting session between them
	next  time.Time // not before
	open  bool      // the last try opened a session, which is not known to be lost
}

// NewRenewal returns the schedule of a session that was not lost yet.
func NewRenewal(s RenewalSettings) *Renewal {
	if s.Backoff == (Backoff{}) {
		s.Backoff = Backoff{Base: 250 * time.Millisecond, Cap: 30 * time.Second}
	}
	if s.Quiet <= 0 {
		s.Quiet = time.Minute
	}
	if s.Lasting <= 0 {
		s.Lasting = time.Second
	}
	s.Free = orDefault(s.Free, 2)
	return &Renewal{set: s}
}

// Lost notes that the session is lost, unless that is known, and returns how long the
// next try has to wait.
func (r *Renewal) Lost(now time.Time) time.Duration {
	if r.open && now.Sub(r.began) > r.set.Lasting {
		r.tries, r.next = 0, time.Time{}
	}
	r.open = false
	return r.Wait(now)
}

// Tried counts a try that reached the network. opened says that it opened a session.
// random is from [0, 1).
func (r *Renewal) Tried(began time.Time, opened bool, random float64) {
	if began.Sub(r.began) > r.set.Quiet {
		r.tries = 0
	}
	r.began, r.open = began, opened
	if r.tries++; r.tries > r.set.Free {
		r.next = began.Add(r.set.Backoff.Wait(r.tries-r.set.Free-1, random))
	}
}

// Wait returns how long the next try has to wait, 0 for not at all.
func (r *Renewal) Wait(now time.Time) time.Duration { return max(0, r.next.Sub(now)) }

// Pause returns the wait before the n-th try of a caller that goes on until one
// works, n counted from 1.
func (r *Renewal) Pause(n int, random float64) time.Duration {
	return r.set.Backoff.Wait(n-1, random)
}

// Longest bounds all waits.
func (r *Renewal) Longest() time.Duration { return r.set.Backoff.Cap }
