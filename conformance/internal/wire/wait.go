package wire

import (
	"context"
	"errors"
	"time"
)

// WaitUntil asks ok until it says yes or the time is over, and returns what it
// said last. It is for what a server writes outside the conversation.
func WaitUntil(ctx context.Context, limit time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return ok()
		case <-ctx.Done():
			return false
		}
	}
}

// NewsWait is how long news may take. That none came is seen by waiting alone:
// long enough for a machine that is busy.
const NewsWait = 5 * time.Second

// Pause waits.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadFor reads what comes within a time.
func (s *Session) ReadFor(ctx context.Context, d time.Duration) error {
	wait := s.Timeout
	s.Timeout = d
	_, err := s.Next(ctx, func(Inbound) bool { return false })
	s.Timeout = wait
	if errors.Is(err, ErrNoAnswer) {
		s.Doubt = nil
		return nil
	}
	return err
}
