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

// Renewals configures how lost sessions are replaced.
type Renewals struct {
	// Schedule decides when.
	Schedule *resilience.Renewal
	// Allowed returns an error if a renewal must wait, because its handshake is a request, too.
	// nil means that it can start.
	Allowed func() error
	// Wanted reports whether subscriptions need a session.
	Wanted func() bool
}

// renewals is the state of a keeper that renews sessions. Keeper.mu guards it.
type renewals struct {
	reason   error       // error of the last failed renewal
	persists atomic.Bool // Persist runs until there is a session
}

var errSessionGone = errors.New("the server has lost the session")

// Renew replaces the session of lost, and returns nil once there is another one. It joins a
// renewal in progress. delivery is the delivery of the call that found the loss, for the error.
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

// Ask starts to replace the session of lost, if that is allowed now. It does not wait.
func (k *Keeper) Ask(lost *link.Link) {
	if k != nil {
		_, _ = k.begin(k.Life.Context(), lost) // Enter reports the outcome
	}
}

// begin starts a renewal, or joins the one in progress. If there is neither, the error is the
// reason, nil if lost was replaced.
func (k *Keeper) begin(ctx context.Context, lost *link.Link) (*gap, error) {
	if k == nil || k.Restarting() {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if g := k.gap.Load(); g != nil {
		return g, nil
	}
	if k.Links.Load() != lost {
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
	if !k.Life.Go(func() { k.try(ctx, g, lost, began) }) {
		g.err = life.ErrClosed()
		k.gap.Store(nil)
		close(g.over)
		return nil, g.err
	}
	return g, nil
}

// try tries once to replace the session of lost. It belongs to no caller that waits for it: a
// caller that gives up does not cancel it for the others. The new session uses the credentials of
// the caller that started it.
func (k *Keeper) try(ctx context.Context, g *gap, lost *link.Link, began time.Time) {
	before := k.Links.Agreed()
	k.set.Enter(life.Restarting, errSessionGone, 0)
	err := k.open(ctx)
	if closed := k.Life.Refusal(); err != nil && closed != nil {
		err = closed
	}
	g.err = err
	held := k.tried(began, err)
	if err != nil {
		k.move(nil, life.Backoff, err, held)
		k.Log.Warn("[MCP] the session was lost and no new one could be opened", "server", k.Server, "error", err)
		if k.set.Renewals.Wanted() {
			k.Persist(lost) // if the live link is already another one, nothing happens
		}
		return
	}
	k.move(nil, life.Ready, nil, 0)
	k.Log.Info("[MCP] The session was lost; a new one is open", "server", k.Server)
	k.set.Restore(before, errSessionGone)
}

// renewSession opens a session in place of the lost one. If the handshake fails half-way, the new
// session and its agreement are dropped: nothing may be sent in it, and calls that lost the
// previous session have no other yet.
func (k *Keeper) renewSession(ctx context.Context) error {
	before := k.Links.Load()
	opened, err := k.set.Open(ctx)
	if err == nil {
		opened()
		return nil
	}
	if s, ok := before.Conn.(link.Sessions); ok {
		s.DropSession()
	}
	k.Links.Store(before)
	return err
}

// tried records a try and returns the pause before the next one.
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

// refusedHere reports whether the circuit or a throttle refused a try before anything was sent:
// that is no evidence about sessions.
func refusedHere(err error) bool {
	return mcperrors.KindOf(err) == mcperrors.KindCircuitOpen && mcperrors.DeliveryOf(err) == mcperrors.NotSent
}

// Persist replaces the session of lost for subscriptions: it retries until there is a session. If
// the time of the next try is known, it waits for that time, but checks now and then: a circuit
// may close early.
func (k *Keeper) Persist(lost *link.Link) {
	persists := &k.renewals.persists
	if k.Restarting() || !persists.CompareAndSwap(false, true) {
		return
	}
	schedule := k.set.Renewals.Schedule
	started := k.Life.Go(func() {
		defer persists.Store(false)
		for n := 1; ; {
			err := k.renew(k.Life.Context(), lost)
			if err == nil {
				return
			}
			pause := min(mcperrors.RetryAfter(err), schedule.Longest())
			if pause > 0 {
				pause += schedule.Pause(1, rand.Float64()) // so that clients do not retry all at once
			} else {
				pause = schedule.Pause(n, rand.Float64())
				n++
			}
			if !life.Sleep(k.Life.Context(), pause) {
				return
			}
		}
	})
	if !started {
		persists.Store(false)
	}
}

// sessionless returns the error of a call that has no session. The message has the reason why
// none could be opened, and the delivery is that of the call.
func sessionless(ctx context.Context, cause error, delivery mcperrors.Delivery) *mcperrors.Error {
	e := *errormap.From(cause, delivery)
	e.Delivery = delivery
	switch e.Kind {
	case mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindOverloaded, mcperrors.KindCircuitOpen:
		return &e // the call was given up, or the renewal was not tried
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
