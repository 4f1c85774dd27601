package life

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool { return !Wait(ctx.Done(), d, nil) }

// Wait waits at most bound for done, and reports whether done is closed. It returns early when
// gaveUp, which may be nil, is closed.
func Wait(done <-chan struct{}, bound time.Duration, gaveUp <-chan struct{}) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-gaveUp:
	}
	return false
}

// Sleep waits for d. If it ends early, it returns the cause of ctx or [ErrClosed].
func (l *Life) Sleep(ctx context.Context, d time.Duration) error {
	if !Wait(ctx.Done(), d, l.ctx.Done()) && l.ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return ErrClosed()
}
