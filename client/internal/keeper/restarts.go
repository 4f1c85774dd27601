package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Restarts configures how a lost link is replaced: the program is started again, or the HTTP+SSE
// stream is connected again.
type Restarts struct {
	// Schedule decides when. The keeper calls its Started for each new link; call it for the
	// first one.
	Schedule *resilience.Restart
	// Again is the participle for messages: "started" or "connected".
	Again string
	// Paused starts the error of a call during the pause before a restart, such as "the server
	// keeps exiting; next restart".
	Paused string
	// Patience limits how long a call waits for the next link.
	Patience time.Duration
	// Hung is how long a program that answers no probe may send nothing before it is killed. A
	// negative value means forever.
	Hung time.Duration
}

// restarts is the state of a keeper that restarts links. Keeper.mu guards it.
type restarts struct {
	done    chan struct{} // closed when watch has returned
	counted uint32        // number of the last link whose end the circuit has counted
	killed  uint32        // number of the last link that was killed; reason is why
	reason  error
	mute    mute
}

// mute is a program that has not answered a probe, with the bytes received by then.
type mute struct {
	number uint32
	heard  uint64
	since  time.Time
}

const (
	// exitGrace limits the wait for a program to exit after its connection has ended: the
	// transport kills it before that.
	exitGrace = 3 * time.Second
	// brokenGrace is how long a program that accepts no more requests may still answer earlier
	// ones.
	brokenGrace = 2 * time.Second
)

// Watch starts to watch for the end of the live link.
func (k *Keeper) Watch() {
	switch {
	case !k.Restarting():
		k.Life.Go(k.watchEnd)
	case !k.Life.Go(k.watch):
		close(k.restarts.done)
	}
}

// watchEnd reports the end of a link that is not replaced.
func (k *Keeper) watchEnd() {
	l := k.Links.Load()
	if !k.awaitEnd(l) {
		return
	}
	cause := k.whyEnded(l)
	k.Log.Warn("[MCP] the server closed the connection", "server", k.Server, "error", cause)
	k.set.Enter(life.Ended, cause, 0)
	k.Emit(event.Disconnected{Cause: cause})
}

// awaitEnd waits for the end of l. It returns false if the client is closed first.
func (k *Keeper) awaitEnd(l *link.Link) bool {
	select {
	case <-k.Life.Context().Done():
		return false
	case <-l.Conn.Done():
	}
	return !k.Life.Closed()
}

// Done returns a channel that is closed when the keeper opens no more links: the client is
// closed, or a restart cannot help. It is nil for a keeper that renews sessions.
func (k *Keeper) Done() <-chan struct{} {
	if !k.Restarting() {
		return nil
	}
	return k.restarts.done
}

// watch waits for the end of the live link and replaces it, until the client is closed or a
// restart cannot help.
func (k *Keeper) watch() {
	defer close(k.restarts.done)
	for {
		l := k.Links.Load()
		if !k.awaitEnd(l) {
			return
		}
		k.Lost(l)
		cause := k.whyEnded(l)
		k.Log.Warn("[MCP] the server has exited or disconnected; it is being "+k.set.Restarts.Again+" again", "server", k.Server, "error", cause)
		k.set.Enter(life.Restarting, cause, 0)
		if p, ok := l.Conn.(link.Program); ok {
			life.Wait(p.Exited(), exitGrace, k.Life.Context().Done())
		}
		if !k.restart(cause) {
			return
		}
	}
}

// whyEnded returns the error of a link that has ended.
func (k *Keeper) whyEnded(l *link.Link) error {
	f := l.Ended()
	killed := k.killedFor(l)
	if killed == nil {
		sent := outcome.Sent{Restarts: k.Restarting()}
		return k.About(outcome.Subject{}, outcome.OfFailure(&sent, f).Err)
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent,
		"the server hung and was killed: "+killed.Error(), killed)
	e.Process = f.Process
	return k.About(outcome.Subject{}, e)
}

// restartLink opens the link of a restarted program or stream. Only the handshake uses the link
// until it is complete.
func (k *Keeper) restartLink(ctx context.Context) error {
	opened, err := k.set.Open(ctx)
	if err == nil && !k.Life.Unless(k.Links.Promote) {
		err = life.ErrClosed()
	}
	if err != nil {
		k.Links.Discard()
		return err
	}
	opened()
	return nil
}

// restart opens links until one works. It returns false if it gives up for good.
func (k *Keeper) restart(ended error) bool {
	set, log, server := k.set.Restarts, k.Log, k.Server
	for cause := ended; ; {
		next := set.Schedule.Ended(time.Now(), rand.Float64())
		if next.Loop {
			log.Warn("[MCP] the server keeps exiting; restarts are paused", "server", server, "for", next.Wait, "ends", next.Try)
			held := newGap(cause)
			held.until = time.Now().Add(next.Wait)
			k.move(held, life.Backoff, cause, next.Wait)
		}
		if !life.Sleep(k.Life.Context(), next.Wait) {
			return false
		}
		if next.Loop {
			k.move(newGap(cause), life.Restarting, cause, 0)
		}
		before := k.Links.Agreed()
		err := k.open(k.Life.Context())
		switch {
		case k.Life.Closed():
			return false
		case err == nil:
			set.Schedule.Started(time.Now())
			k.move(nil, life.Ready, nil, 0)
			log.Info("[MCP] The server was "+set.Again+" again", "server", server)
			k.set.Restore(before, ended)
			return true
		case neverStarts(err):
			log.Warn("[MCP] the server cannot be "+set.Again+" again", "server", server, "error", err)
			gone := newGap(err)
			gone.final = true
			k.move(gone, life.Ended, err, 0)
			k.Emit(event.Disconnected{Cause: err})
			return false
		}
		log.Warn("[MCP] the server was "+set.Again+" again and does not work", "server", server, "error", err, "tries", next.Try)
		cause = err
	}
}

// neverStarts reports whether another start would fail with the same error: a program that does
// not exist any more, or must not be run.
func neverStarts(err error) bool {
	var e *mcperrors.Error
	f := outcome.FailureOf(err)
	return errors.As(err, &e) && !e.Retryable && (f.Reason == transport.ReasonUnavailable || f.Reason == transport.ReasonOption)
}

// AwaitRestart waits for the next link without a limit, for streams that are opened again. It
// reports whether it had to wait.
func (k *Keeper) AwaitRestart(ctx context.Context) bool {
	if !k.Restarting() {
		return false
	}
	waited := false
	for g := k.gap.Load(); g != nil && !g.final; g = k.gap.Load() {
		waited = true
		select {
		case <-g.over:
		case <-ctx.Done():
			return true
		}
	}
	return waited
}

// Replace waits for the next link for a call that l did not take. It returns nil if the call can
// be sent again. A server that is still running is killed because of cause.
func (k *Keeper) Replace(ctx context.Context, l *link.Link, cause error) *mcperrors.Error {
	life.Wait(l.Conn.Done(), brokenGrace, ctx.Done())
	select {
	case <-l.Conn.Done():
		k.Lost(l)
	default:
		if ctx.Err() != nil {
			return errormap.From(context.Cause(ctx), mcperrors.NotSent)
		}
		k.Lost(l)
		k.Kill(l, cause)
	}
	return k.await(ctx)
}

// Kill stops a server that no longer works, so that it is restarted: calls in flight fail with
// cause, and later calls wait. It does nothing if l was replaced or has ended. It never blocks.
func (k *Keeper) Kill(l *link.Link, cause error) {
	if !k.Restarting() || k.Links.Load().Number != l.Number {
		return
	}
	select {
	case <-l.Conn.Done():
		return // the end is already known
	default:
	}
	k.mu.Lock()
	first := k.restarts.killed != l.Number
	if first {
		k.restarts.killed, k.restarts.reason = l.Number, cause
	}
	k.mu.Unlock()
	if !first {
		return
	}
	if p, ok := l.Conn.(link.Program); ok {
		p.Kill(cause)
	} else {
		k.Life.Go(l.Abort)
	}
}

// killedFor returns why l was killed, nil if it was not.
func (k *Keeper) killedFor(l *link.Link) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.restarts.killed != l.Number {
		return nil
	}
	return k.restarts.reason
}

// FirstEndOf reports whether it is called for l for the first time: all calls that end with a
// program have one cause, which is one failure.
func (k *Keeper) FirstEndOf(l *link.Link) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.restarts.counted != l.Number
	k.restarts.counted = l.Number
	return first
}

// Unanswered records that a program that is not busy has not answered a probe. A program that has
// been silent since an earlier such probe for too long hangs, and is killed. A program that was
// suspended for a while is not.
func (k *Keeper) Unanswered() {
	if !k.Restarting() || k.set.Restarts.Hung < 0 {
		return
	}
	l := k.Links.Load()
	counter, ok := l.Conn.(link.Counter)
	if !ok {
		return
	}
	now := mute{number: l.Number, heard: counter.Received(), since: time.Now()}
	k.mu.Lock()
	before := k.restarts.mute
	known := before.number == now.number && before.heard == now.heard
	if !known {
		k.restarts.mute = now
	}
	k.mu.Unlock()
	if silent := now.since.Sub(before.since); known && silent > k.set.Restarts.Hung {
		k.Log.Warn("[MCP] the server hangs; it is killed", "server", k.Server, "silent", silent)
		k.Kill(l, errHung)
	}
}

var errHung = errors.New("it sent nothing for a long time and answered no liveness probe")
