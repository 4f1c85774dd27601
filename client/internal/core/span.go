package core

import (
	"context"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Span is the time that a whole call may take, which is no longer than one attempt
// may take. Rounds, pauses and repairs share it, whatever the server says.
type Span struct {
	// Began is zero for a request that is not part of a call.
	Began time.Time
	// Wait is how long the answer to one attempt is waited for; a Max of 0 is no bound.
	Wait jsonrpc.Wait
}

// Left returns the time that is left. bounded is false for a call without a maximum
// time, and for a request that is not part of a call.
func (s Span) Left() (left time.Duration, bounded bool) {
	if s.Wait.Max <= 0 || s.Began.IsZero() {
		return 0, false
	}
	return s.Wait.Max - time.Since(s.Began), true
}

// Over reports whether no time is left.
func (s Span) Over() bool {
	left, bounded := s.Left()
	return bounded && left <= 0
}

// Patience returns how long the answer to an attempt is waited for, if the call has
// made another attempt before or waited for something else.
func (s Span) Patience() jsonrpc.Wait {
	wait := s.Wait
	if left, bounded := s.Left(); bounded {
		wait.Max = max(left, 1) // 0 is no bound
	}
	return wait
}

// Bound returns a context for the work before and between attempts.
func (s Span) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if left, bounded := s.Left(); bounded {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
}

// Remaining returns the time until the call must end, [math.MaxInt64] for no bound.
func (s Span) Remaining(ctx context.Context) time.Duration {
	left := time.Duration(math.MaxInt64)
	if own, bounded := s.Left(); bounded {
		left = own
	}
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return left
}
