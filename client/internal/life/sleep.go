package life

import (
	"context"
	"time"
)

// Sleep waits for d. It reports false when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool { return !Wait(ctx.Done(), d, nil) }

// Wait waits for done, no longer than bound, and reports whether it is closed. It also ends
// when gaveUp is closed, which may be nil.
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

// Sleep waits for d. The error tells why it ended early: the cause of ctx, or
// that of [ErrClosed].
func (l *Life) Sleep(ctx context.Context, d time.Duration) error {
	if !Wait(ctx.Done(), d, l.ctx.Done()) && l.ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return ErrClosed()
}
