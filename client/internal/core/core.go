// Package core has what all parts of one client share: the connection, its lifetime, the log, and
// the functions that report errors and events.
package core

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Core is shared by all parts of one client. Set its exported fields before the parts use
// it; they do not change. Its methods may be called from many goroutines at once.
type Core struct {
	// Server is the name of the server in errors, events and the log.
	Server string
	Log    *slog.Logger
	Links  link.Holder
	Life   life.Life
	// Budget bounds the memory of server messages that wait for handlers.
	Budget transport.Budget
	// Emit queues an event for the application. It never waits.
	Emit func(event.Event)
	// Failed reports an application callback that panicked or called runtime.Goexit.
	Failed func(*callback.Error)

	secrets atomic.Pointer[secrets] // nil while there are none
}

// Exchange sends one request over l and returns its answer. A panic in the
// transport becomes a [transport.Failure] and is reported to Failed.
func (c *Core) Exchange(ctx context.Context, l *link.Link, req transport.Request) (answer transport.Answer, err error) {
	var failure *callback.Error
	if !callback.Run("Transport", func(e *callback.Error) {
		failure = e
		c.Failed(e)
	}, func() { answer, err = l.Conn.Call(ctx, req) }) {
		err = &transport.Failure{Reason: transport.ReasonCallback, Err: failure}
	}
	return answer, err
}

// Span is the time limit of a whole call, which equals the limit of one attempt. Rounds, pauses
// and repairs count against it.
type Span struct {
	// Began is zero for a request that is not part of a call.
	Began time.Time
	// Wait limits the wait for the answer to one attempt. A Max of 0 means no limit.
	Wait jsonrpc.Wait
}

// Left returns the remaining time. bounded is false for a call without a maximum, and for a
// request that is not part of a call.
func (s Span) Left() (left time.Duration, bounded bool) {
	if s.Wait.Max <= 0 || s.Began.IsZero() {
		return 0, false
	}
	return s.Wait.Max - time.Since(s.Began), true
}

// Over reports whether the time is used up.
func (s Span) Over() bool {
	left, bounded := s.Left()
	return bounded && left <= 0
}

// Patience returns the wait for an attempt of a call that has already spent time, on another
// attempt or on something else.
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

// Remaining returns the time until the call must end, [math.MaxInt64] if it has no limit.
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
