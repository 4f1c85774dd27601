package resilience

import "time"

// RestartSettings are the times of [Restart]. Zero members take the defaults.
type RestartSettings struct {
	// Backoff bounds the pause before a program is restarted. The defaults are 250 ms,
	// doubling to 30 s.
	Backoff Backoff
	// Healthy is how long a program has to run for what was before it to be
	// forgotten; 0 means 60 s.
	Healthy time.Duration
	// Crashes ends in Within are a crash loop; 0 means 5 in 60 s.
	Crashes int
	Within  time.Duration
	// Hold is how long a crash loop keeps the program from being started, twice
	// as long each time, up to MaxHold; 0 means 60 s and 5 min.
	Hold, MaxHold time.Duration
}

func (s RestartSettings) withDefaults() RestartSettings {
	s.Backoff = s.Backoff.or(restartPauses)
	for _, d := range []struct {
		field     *time.Duration
		otherwise time.Duration
	}{{&s.Healthy, time.Minute}, {&s.Within, time.Minute}, {&s.Hold, time.Minute}, {&s.MaxHold, 5 * time.Minute}} {
		if *d.field <= 0 {
			*d.field = d.otherwise
		}
	}
	s.Crashes = orDefault(s.Crashes, 5)
	s.MaxHold = max(s.MaxHold, s.Hold)
	return s
}

// Restart is the schedule by which a program is started again. One goroutine at a time
// may use it. The program that runs first needs
// a Started too; one that could not be started has an Ended without it. What
// can never be started, such as a program that is not there, is not this
// schedule's business: nothing is started again for it.
//
// Once in a crash loop, the program is on trial until it has been healthy: an
// end before that is a crash loop at once, and holds it twice as long.
type Restart struct {
	set RestartSettings

	running bool
	began   time.Time
	tries   int           // ends since the program was healthy
	loops   int           // of these, how many were held for
	ends    []time.Time   // the last of them, oldest first, Crashes at most
	hold    time.Duration // of the last loop, 0 before
}

// NewRestart returns the schedule of a program that was not started yet.
func NewRestart(s RestartSettings) *Restart { return &Restart{set: s.withDefaults()} }

// Next says when a program is started again.
type Next struct {
	// Wait is how long to wait first.
	Wait time.Duration
	// Loop: the program is in a crash loop, and Wait is its hold. Calls are told
	// so meanwhile and do not wait.
	Loop bool
	// Try counts the ends since the program was last healthy, this one included.
	Try int
}

// Started notes that the program runs.
func (r *Restart) Started(now time.Time) { r.running, r.began = true, now }

// Ended notes that the program has ended or could not be started, and returns
// when to start it again. random is from [0, 1).
func (r *Restart) Ended(now time.Time, random float64) Next {
	if r.running && now.Sub(r.began) >= r.set.Healthy {
		r.tries, r.loops, r.hold, r.ends = 0, 0, 0, r.ends[:0]
	}
	r.running = false
	r.tries++
	if len(r.ends) == r.set.Crashes {
		r.ends = append(r.ends[:0], r.ends[1:]...)
	}
	r.ends = append(r.ends, now)
	if r.loops > 0 || (len(r.ends) == r.set.Crashes && now.Sub(r.ends[0]) <= r.set.Within) {
		r.loops++
		r.hold = min(max(2*r.hold, r.set.Hold), r.set.MaxHold)
		return Next{Wait: r.hold, Loop: true, Try: r.tries}
	}
	return Next{Wait: r.set.Backoff.Wait(r.tries-1, random), Try: r.tries}
}

// Looping reports whether the last end was one of a crash loop.
func (r *Restart) Looping() bool { return r.loops > 0 && !r.running }
