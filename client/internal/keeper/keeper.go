// Package keeper provides a client with a usable link. When the link is lost, the keeper opens
// the next one, once for all callers. They wait for it, or fail at once if waiting would not
// help.
//
// Links are lost in two ways, and a keeper handles one of them. If a program exits, or an
// HTTP+SSE stream ends, the keeper notices, and restarts the link until that works ([Restarts]).
// If a server loses a session, a caller notices, and the keeper tries once to renew the session
// ([Renewals]).
package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/handshake"
)

// Config configures a keeper. A keeper with neither Restarts nor Renewals only reports the end of
// the live link.
type Config struct {
	// Open opens the next link and runs its handshake: beside the live link for Restarts, in
	// place of it for Renewals. The keeper calls opened once the next link is live, before calls
	// use it.
	Open func(ctx context.Context) (opened func(), err error)
	// Timeout limits Open. TooSlow is the cause of the timeout, nil for the usual one.
	Timeout time.Duration
	TooSlow error
	// Enter reports a state: Ready, Restarting, Backoff or Ended. It must neither block nor call
	// the keeper.
	Enter func(to life.State, cause error, held time.Duration)
	// Restore restores the state of the previous link on the live one, once calls use it.
	Restore func(before *link.Agreement, cause error)

	Restarts *Restarts
	Renewals *Renewals
}

// Keeper provides usable links. Its methods may be called from many goroutines at once. A nil
// Keeper belongs to a client that has not lost a link yet: its link is usable.
type Keeper struct {
	*core.Core
	set Config
	gap atomic.Pointer[gap] // nil while the live link is usable

	mu       sync.Mutex // of moves, and of:
	restarts restarts
	renewals renewals
}

// New returns a keeper of the live link. Call Watch unless the keeper renews sessions.
func New(c *core.Core, set Config) *Keeper {
	k := &Keeper{Core: c, set: set}
	if set.Restarts != nil {
		k.restarts.done = make(chan struct{})
	}
	return k
}

// Restarting reports whether the keeper restarts links, rather than renew sessions.
func (k *Keeper) Restarting() bool { return k != nil && k.set.Restarts != nil }

// Interrupted reports whether there is no usable link now.
func (k *Keeper) Interrupted() bool { return k != nil && k.gap.Load() != nil }

// Renewing reports whether a session is being renewed.
func (k *Keeper) Renewing() bool { return k.Interrupted() && !k.Restarting() }

// Await waits until the live link is usable, within the time of the call. It reports whether the
// call had to wait. It returns an error if the call must fail; the call was not sent.
func (k *Keeper) Await(ctx context.Context, s core.Span) (waited bool, _ *mcperrors.Error) {
	if !k.Interrupted() {
		return false, nil
	}
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	return true, k.await(ctx)
}

func (k *Keeper) await(ctx context.Context) *mcperrors.Error {
	g := k.gap.Load()
	if g == nil {
		return nil
	}
	var late <-chan time.Time // never, if only Timeout limits the wait
	if k.set.Restarts != nil {
		timer := time.NewTimer(k.set.Restarts.Patience)
		defer timer.Stop()
		late = timer.C
	}
	for ; g != nil; g = k.gap.Load() {
		if e := k.refusal(g); e != nil {
			return e
		}
		select {
		case <-g.over:
			if g.err != nil {
				return sessionless(ctx, g.err, mcperrors.NotSent)
			}
		case <-late:
			return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent,
				fmt.Sprintf("the server is being %s again and was not ready within %s", k.set.Restarts.Again, k.set.Restarts.Patience), g.cause)
		case <-ctx.Done():
			return errormap.From(context.Cause(ctx), mcperrors.NotSent)
		case <-k.Life.Context().Done():
			return k.Life.Refusal()
		}
	}
	return nil
}

// Refusal returns the error of a call over l if there is no link and none is being opened, nil if
// waiting helps.
func (k *Keeper) Refusal(l *link.Link, method string) *mcperrors.Error {
	if !k.Restarting() {
		return endedFor(l, method)
	}
	if g := k.gap.Load(); g != nil {
		return k.refusal(g)
	}
	return nil
}

// endedFor returns the error of a call over l if l is a program that has exited and is not
// restarted.
func endedFor(l *link.Link, method string) *mcperrors.Error {
	if !l.Traits.Process {
		return nil
	}
	select {
	case <-l.Conn.Done():
	default:
		return nil
	}
	sent, f := outcome.Sent{Method: method}, l.Ended()
	if !sent.HasEnded(f) {
		return nil
	}
	return outcome.OfFailure(&sent, f).Err
}

// Outage reports whether there is no usable link, when the next one is opened at the earliest,
// and why there is none, nil if that is not known yet.
func (k *Keeper) Outage() (until time.Time, ok bool, cause error) {
	if !k.Interrupted() {
		return time.Time{}, false, nil
	}
	if g := k.gap.Load(); g != nil {
		return g.until, true, g.cause
	}
	return time.Time{}, false, nil
}

// Lost starts a gap, unless there is one or l was replaced. The first caller that notices the
// loss calls it.
func (k *Keeper) Lost(l *link.Link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gap.Load() == nil && k.Links.Load().Number == l.Number {
		k.gap.Store(newGap(nil))
	}
}

// move sets the gap, nil for a usable link, and then reports the state. Waiting calls continue
// after that.
func (k *Keeper) move(next *gap, to life.State, cause error, held time.Duration) {
	k.mu.Lock()
	before := k.gap.Swap(next)
	k.set.Enter(to, cause, held)
	k.mu.Unlock()
	if next != nil {
		close(next.reported)
	}
	if before != nil {
		close(before.over)
	}
}

// open opens one link, with the values of a call's context.
func (k *Keeper) open(call context.Context) error {
	own, end := k.Life.With(call)
	defer end()
	ctx, cancel := context.WithTimeoutCause(handshake.Context(own), k.set.Timeout, k.set.TooSlow)
	defer cancel()
	replace := k.renewSession
	if k.Restarting() {
		replace = k.restartLink
	}
	return replace(ctx)
}

// gap is a time without a usable link.
type gap struct {
	cause error     // nil while it is not known
	until time.Time // end of the pause before a restart; zero for none
	final bool      // no link will be opened
	// err is the error of the only try of this gap. It is set before over is closed.
	err      error
	over     chan struct{}
	reported chan struct{} // closed once the state is reported
}

func newGap(cause error) *gap {
	return &gap{cause: cause, over: make(chan struct{}), reported: make(chan struct{})}
}

// refusal returns the error of a call that does not wait for the end of g. No call fails before
// the state is reported.
func (k *Keeper) refusal(g *gap) *mcperrors.Error {
	rest := time.Until(g.until)
	if !g.final && rest <= 0 {
		return nil
	}
	<-g.reported
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "", g.cause)
	var cause *mcperrors.Error
	if errors.As(g.cause, &cause) {
		e.Process, e.Message, e.Cause = cause.Process, cause.Message, cause.Cause // so that the message has each fact once
	}
	if g.final {
		outcome.Ended(e)
		if cause != nil {
			e.Message = "the server has exited and cannot be " + k.set.Restarts.Again + " again: " + cause.Message
		}
		return e
	}
	e.Message = fmt.Sprintf("%s %s: %s", k.set.Restarts.Paused, soon(rest), e.Message)
	e.RetryAfter = rest
	return e
}

// soon describes when a pause ends. It never rounds to "in 0s".
func soon(rest time.Duration) string {
	if rest = rest.Round(time.Second); rest > 0 {
		return "in " + rest.String()
	}
	return "within a second"
}
