package resilience

import (
	"sync/atomic"
	"time"
)

// Streak tells what counts only when it happens again on one connection: three
// answers in a row that say that they could not read the request, where all
// share one stream, and two lost sessions in ten seconds. The zero Streak has seen
// nothing; its methods may be called from many
// goroutines at once.
type Streak struct {
	unreadable atomic.Int64 // in a row
	lost       atomic.Int64 // when a session was lost last, as now; 0 before
}

const (
	unreadableRun = 3
	sessionGap    = 10 * time.Second
)

// Note reports whether attempt a has happened often enough to count, for
// [Attempt.Repeated]. now is the time since a moment of the caller's choice,
// above 0. Attempts that nobody answered leave the run as it is.
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

// Repeats is [Streak.Note] for what counts when it happens again to one call: the
// end of a connection that had been used before, and of the program under it.
func (s State) Repeats(a Attempt) bool {
	switch {
	case a.Class == ClassLost && a.Reused:
		return s.Stale > 0
	case a.Class == ClassExited:
		return s.Exits > 0
	}
	return false
}
