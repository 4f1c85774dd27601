package run

import (
	"context"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Span is the time that a whole call may take: as long as one attempt of it at
// most. Rounds, pauses and repairs share it, whatever the server says (decisions
// 26, RSL-07).
type Span struct {
	// Began is zero for what is one attempt only.
	Began time.Time
	// Wait is how long one attempt is waited for; a Max of 0 is no bound.
	Wait jsonrpc.Wait
}

// Left returns the time that is left. bounded is false for a call without a maximum
// time, and for what is one attempt only.
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

// Patience returns how long an attempt is waited for that is not the first, or that
// something was waited for before.
func (s Span) Patience() jsonrpc.Wait {
	wait := s.Wait
	if left, bounded := s.Left(); bounded {
		wait.Max = max(left, 1) // 0 is no bound
	}
	return wait
}

// Bound bounds what is done before and between attempts.
func (s Span) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if left, bounded := s.Left(); bounded {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
}

// Remaining returns the time to the end of a call, [math.MaxInt64] for one without.
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
