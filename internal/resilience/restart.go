package resilience

import "time"

// RestartSettings are the times of [Restart]. Zero members mean the defaults.
type RestartSettings struct {
	// Backoff limits the pause before a program is restarted. The defaults are 250 ms, doubling
	// to 30 s.
	Backoff Backoff
	// Healthy is how long a program must run to reset the history; 0 means 60 s.
	Healthy time.Duration
	// Crashes exits within Within are a crash loop; 0 means 5 in 60 s.
	Crashes int
	Within  time.Duration
	// Hold is the pause after a crash loop, doubling each time up to MaxHold; 0 means 60 s and 5
	// min.
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

// Restart is the schedule of a program's restarts. One goroutine at a time may use it. Call
// Started for the first start, too; call Ended without Started if a start failed. A program that
// can never start, for example because it does not exist, is not restarted, and is not part of
// the schedule.
//
// After a crash loop, the program is on trial until it has been healthy: an exit before that is a
// crash loop at once, with twice the pause.
type Restart struct {
	set RestartSettings

	running bool
	began   time.Time
	tries   int           // exits since the program was healthy
	loops   int           // how many of these were crash loops
	ends    []time.Time   // the last of them, oldest first, at most Crashes
	hold    time.Duration // of the last crash loop, 0 for none
}

// NewRestart returns the schedule of a program that was not started yet.
func NewRestart(s RestartSettings) *Restart { return &Restart{set: s.withDefaults()} }

// Next describes the next restart.
type Next struct {
	// Wait is the delay before the restart.
	Wait time.Duration
	// Loop is set if the program is in a crash loop. Then calls fail during Wait instead of
	// waiting.
	Loop bool
	// Try counts the exits since the program was last healthy, including this one.
	Try int
}

// Started records that the program runs.
func (r *Restart) Started(now time.Time) { r.running, r.began = true, now }

// Ended records that the program has exited or could not be started, and returns when to restart
// it. random is from [0, 1).
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
