package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Renewals is how a session that the server has forgotten is replaced.
type Renewals struct {
	// Schedule is when.
	Schedule *resilience.Renewal
	// Allowed returns the error of a renewal that must wait: a handshake is a
	// request, too. nil means that it may go.
	Allowed func() error
	// Wanted reports whether anybody needs a session without making calls.
	Wanted func() bool
}

// renewals is the state of a keeper that renews sessions. Guarded by its mu.
type renewals struct {
	reason   error       // of the last failure
	persists atomic.Bool // somebody goes on until there is a session
}

var errSessionGone = errors.New("the server has lost the session")

// Renew replaces the session of lost, unless that is done already: nil when there
// is another. It joins a try that is under way. delivery is what became of the
// call that found the loss, which the error repeats.
func (k *Keeper) Renew(ctx context.Context, lost *link.Link, delivery mcperrors.Delivery) *mcperrors.Error {
	if err := k.renew(ctx, lost); err != nil {
		return sessionless(ctx, err, delivery)
	}
	return nil
}

func (k *Keeper) renew(ctx context.Context, lost *link.Link) error {
	g, err := k.begin(ctx, lost)
	if g == nil {
		return err
	}
	select {
	case <-g.over:
		return g.err
	case <-ctx.Done():
		return errormap.From(context.Cause(ctx), mcperrors.NotSent)
	}
}

// Ask begins to replace the session of lost, if it may be done now. It does not
// wait.
func (k *Keeper) Ask(lost *link.Link) {
	if k != nil {
		_, _ = k.begin(k.set.Life.Context(), lost) // the outcome is reported to Enter
	}
}

// begin begins a try, or joins the one that is under way. Without either, the
// error says why not, nil when lost was replaced.
func (k *Keeper) begin(ctx context.Context, lost *link.Link) (*gap, error) {
	if k == nil || k.Restarting() {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if g := k.gap.Load(); g != nil {
		return g, nil
	}
	if k.set.Links.Load() != lost {
		return nil, nil
	}
	if err := k.set.Renewals.Allowed(); err != nil {
		return nil, err
	}
	began := time.Now()
	if wait := k.set.Renewals.Schedule.Lost(began); wait > 0 {
		e := mcperrors.New(mcperrors.CodeSessionExpired, mcperrors.KindSessionLost, mcperrors.NotSent,
			"the server loses sessions too often; the next one is opened after a pause", k.renewals.reason)
		e.Retryable, e.RetryAfter = true, wait
		return nil, e
	}
	g := newGap(nil)
	k.gap.Store(g)
	if !k.set.Life.Go(func() { k.try(ctx, g, lost, began) }) {
		g.err = life.ErrClosed()
		k.gap.Store(nil)
		close(g.over)
		return nil, g.err
	}
	return g, nil
}

// try is one try to replace the session of lost. It belongs to no caller that waits
// for it: one that gives up does not end it for the others. The session is opened with the
// credentials of the one that began it.
func (k *Keeper) try(ctx context.Context, g *gap, lost *link.Link, began time.Time) {
	before := k.set.Links.Agreed()
	k.set.Enter(life.Restarting, errSessionGone, 0)
	err := k.open(ctx)
	if closed := k.set.Life.Refusal(); err != nil && closed != nil {
		err = closed
	}
	g.err = err
	held := k.tried(began, err)
	if err != nil {
		k.move(nil, life.Backoff, err, held)
		k.set.Log.Warn("[MCP] the session was lost and no new one could be opened", "server", k.set.Server, "error", err)
		if k.set.Renewals.Wanted() {
			k.Persist(lost) // the live link may be another by now, that is good
		}
		return
	}
	k.move(nil, life.Ready, nil, 0)
	k.set.Log.Info("[MCP] The session was lost; a new one is open", "server", k.set.Server)
	k.set.Restore(before, errSessionGone)
}

// renewSession opens a session in place of the one that was lost. One whose
// handshake fails half-way is dropped, with what was agreed in it: nothing may be
// sent there, and calls that lost the one before have none yet.
func (k *Keeper) renewSession(ctx context.Context) error {
	before := k.set.Links.Load()
	opened, err := k.set.Open(ctx)
	if err == nil {
		opened()
		return nil
	}
	if s, ok := before.Conn.(link.Sessions); ok {
		s.DropSession()
	}
	k.set.Links.Store(before)
	return err
}

// tried counts a try and returns how long the next one has to wait.
func (k *Keeper) tried(began time.Time, err error) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	schedule := k.set.Renewals.Schedule
	if !refusedHere(err) {
		k.renewals.reason = err
		schedule.Tried(began, err == nil, rand.Float64())
	}
	return max(schedule.Wait(time.Now()), mcperrors.RetryAfter(err))
}

// refusedHere reports whether a try ended before the network, because the circuit
// or its hold did not let it through: that says nothing about sessions.
func refusedHere(err error) bool {
	return mcperrors.KindOf(err) == mcperrors.KindCircuitOpen && mcperrors.DeliveryOf(err) == mcperrors.NotSent
}

// Persist replaces the session of lost on behalf of those that make no calls: it
// goes on until there is one. Where the time of the next try is known it waits
// for that, but looks again now and then: a circuit may close early.
func (k *Keeper) Persist(lost *link.Link) {
	persists := &k.renewals.persists
	if k.Restarting() || !persists.CompareAndSwap(false, true) {
		return
	}
	schedule := k.set.Renewals.Schedule
	started := k.set.Life.Go(func() {
		defer persists.Store(false)
		for n := 1; ; {
			err := k.renew(k.set.Life.Context(), lost)
			if err == nil {
				return
			}
			pause := min(mcperrors.RetryAfter(err), schedule.Longest())
			if pause > 0 {
				pause += schedule.Pause(1, rand.Float64()) // not all at once
			} else {
				pause = schedule.Pause(n, rand.Float64())
				n++
			}
			if !life.Sleep(k.set.Life.Context(), pause) {
				return
			}
		}
	})
	if !started {
		persists.Store(false)
	}
}

// sessionless returns the error of a call that has no session to use. It says
// what kept the client from opening one, and that the call itself did nothing.
func sessionless(ctx context.Context, cause error, delivery mcperrors.Delivery) *mcperrors.Error {
	e := *errormap.From(cause, delivery)
	e.Delivery = delivery
	switch e.Kind {
	case mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindOverloaded, mcperrors.KindCircuitOpen:
		return &e // it was given up, or is not tried yet
	default:
		if ctx.Err() != nil {
			return &e
		}
	}
	lost := mcperrors.New(mcperrors.CodeSessionExpired, mcperrors.KindSessionLost, delivery,
		"the session was lost and no new one could be opened: "+e.Message, cause)
	lost.Retryable, lost.RetryAfter, lost.SuggestedAction = e.Retryable, e.RetryAfter, e.SuggestedAction
	lost.HTTP, lost.Process = e.HTTP, e.Process
	return lost
}
