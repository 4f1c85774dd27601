package resilience

import (
	"sync/atomic"
	"time"
)

// Streak detects failures that count only when they repeat on one connection: three unreadable
// messages in a row, on connections with a single stream, and two lost sessions in ten seconds.
// The zero Streak is ready for use. Its methods may be called from many goroutines at once.
type Streak struct {
	unreadable atomic.Int64 // unreadable messages in a row
	lost       atomic.Int64 // time of the last lost session, as now; 0 for none
}

const (
	unreadableRun = 3
	sessionGap    = 10 * time.Second
)

// Note reports whether the failure of attempt a has repeated often enough to count, for
// [Attempt.Repeated]. now is the time since an arbitrary start, above 0. Attempts without an
// answer do not end a series.
func (s *Streak) Note(a Attempt, now time.Duration) bool {
	switch {
	case a.Class == ClassUnreadable:
		return s.unreadable.Add(1) >= unreadableRun
	case a.Class == ClassSessionLost:
		last := s.lost.Swap(int64(now))
		return last > 0 && now-time.Duration(last) < sessionGap
	case a.Class >= ClassComplete && a.Class <= ClassBrokenResult && s.unreadable.Load() != 0:
		s.unreadable.Store(0)
	}
	return false
}

// Repeats is [Streak.Note] for failures that count when they repeat in one call: the end of a
// reused connection, and the exit of the program.
func (s State) Repeats(a Attempt) bool {
	switch {
	case a.Class == ClassLost && a.Reused:
		return s.Stale > 0
	case a.Class == ClassExited:
		return s.Exits > 0
	}
	return false
}
