// Package keeper supplies a client with a usable link. When the link is lost, the
// keeper makes the next one, once for all callers: they wait for it, or are
// refused where waiting does not help.
//
// Links are lost in two ways, and a keeper handles one of them. A program exits,
// or the stream of HTTP+SSE ends: the keeper sees it and restarts the link until
// that works ([Restarts]). A server forgets a session: a caller sees it, and the
// keeper makes one try to renew the session ([Renewals]).
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
)

// Config is what a keeper knows and what the layers above do for it. A keeper with
// neither Restarts nor Renewals only reports the end of the live link.
type Config struct {
	*core.Core
	// Open makes the next link, with its handshake: beside the live one for
	// Restarts, and in its place for Renewals. The keeper calls opened once the
	// next link is the live one, before calls use it.
	Open func(ctx context.Context) (opened func(), err error)
	// Timeout bounds Open, and TooSlow is the cause when it does, nil for the
	// usual one.
	Timeout time.Duration
	TooSlow error
	// Enter reports a state: Ready, Restarting, Backoff or Ended. It must neither block
	// nor call the keeper.
	Enter func(to life.State, cause error, held time.Duration)
	// Restore gives the live link what the one before had, once calls use it.
	Restore func(before *link.Agreement, cause error)

	Restarts *Restarts
	Renewals *Renewals
}

// Keeper supplies usable links. Its methods may be called from many goroutines at
// once. A nil Keeper is that of a client that has not lost a link yet: its link is
// usable.
type Keeper struct {
	set Config
	gap atomic.Pointer[gap] // nil while the live link is usable

	mu       sync.Mutex // of moves, and of:
	restarts restarts
	renewals renewals
}

// New returns a keeper of the live link. Call Watch unless it renews sessions.
func New(set Config) *Keeper {
	k := &Keeper{set: set}
	if set.Restarts != nil {
		k.restarts.done = make(chan struct{})
	}
	return k
}

// Restarting reports whether the keeper restarts links, rather than renew
// sessions.
func (k *Keeper) Restarting() bool { return k != nil && k.set.Restarts != nil }

// Interrupted reports whether there is no usable link at the moment.
func (k *Keeper) Interrupted() bool { return k != nil && k.gap.Load() != nil }

// Renewing reports whether a session is being renewed.
func (k *Keeper) Renewing() bool { return k.Interrupted() && !k.Restarting() }

// Await waits until the live link is usable, as long as the call may take. It
// reports whether the call had to wait. The error says why the call is refused; it
// was not sent.
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
	var late <-chan time.Time // never, where Open alone bounds the wait
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
		case <-k.set.Life.Context().Done():
			return k.set.Life.Refusal()
		}
	}
	return nil
}

// Refusal returns the error of a call over l that finds no link and none on its way,
// nil when waiting helps.
func (k *Keeper) Refusal(l *link.Link, method string) *mcperrors.Error {
	if !k.Restarting() {
		return endedFor(l, method)
	}
	if g := k.gap.Load(); g != nil {
		return k.refusal(g)
	}
	return nil
}

// endedFor returns the error of a call over l if that is a program which has ended and
// is not restarted.
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

// Outage reports whether there is no usable link, until when the next one is not
// made, and why there is none, nil where that is not known yet.
func (k *Keeper) Outage() (until time.Time, ok bool, cause error) {
	if !k.Interrupted() {
		return time.Time{}, false, nil
	}
	if g := k.gap.Load(); g != nil {
		return g.until, true, g.cause
	}
	return time.Time{}, false, nil
}

// Lost begins a gap unless there is one or l was replaced. The first caller that sees the
// loss calls it.
func (k *Keeper) Lost(l *link.Link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gap.Load() == nil && k.set.Links.Load().Number == l.Number {
		k.gap.Store(newGap(nil))
	}
}

// move replaces the gap, nil for a link that is usable, and reports the state.
// The gap is replaced before the state is reported; waiting calls continue afterwards.
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

// open makes one link, with the values of a call's context.
func (k *Keeper) open(call context.Context) error {
	own, end := k.set.Life.With(call)
	defer end()
	ctx, cancel := context.WithTimeoutCause(own, k.set.Timeout, k.set.TooSlow)
	defer cancel()
	replace := k.renewSession
	if k.Restarting() {
		replace = k.restartLink
	}
	return replace(ctx)
}

// gap is a time without a usable link.
type gap struct {
	cause error     // of the gap, nil as long as it is not known
	until time.Time // of a hold; zero for none
	final bool      // no link is made any more
	// err is why the one try of this gap has failed. It is set before over is closed.
	err      error
	over     chan struct{}
	reported chan struct{} // closed once the state is reported
}

func newGap(cause error) *gap {
	return &gap{cause: cause, over: make(chan struct{}), reported: make(chan struct{})}
}

// refusal returns the error of a call that does not wait for the end of g. Nobody
// is refused before the state is reported.
func (k *Keeper) refusal(g *gap) *mcperrors.Error {
	rest := time.Until(g.until)
	if !g.final && rest <= 0 {
		return nil
	}
	<-g.reported
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "", g.cause)
	var cause *mcperrors.Error
	if errors.As(g.cause, &cause) {
		e.Process, e.Message, e.Cause = cause.Process, cause.Message, cause.Cause // one line, each thing once
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

// soon says in words when a pause ends. Rounding must not say "in 0s" of one that lasts.
func soon(rest time.Duration) string {
	if rest = rest.Round(time.Second); rest > 0 {
		return "in " + rest.String()
	}
	return "within a second"
}
