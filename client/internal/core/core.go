// Package core has what all parts of a client share: the connection, the lifetime, the log,
// and the ways to report errors and events.
package core

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
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
