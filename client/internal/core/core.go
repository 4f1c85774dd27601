// Package core has what all parts of a client share: the connection, the lifetime, the log,
// and the ways to report errors and events.
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
	// Budget bounds the memory of messages from the server that wait for handlers.
	Budget transport.Budget
	// Emit queues an event for the application. It never waits.
	Emit func(event.Event)
	// Failed reports a function of the application that panicked or ended its goroutine.
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
