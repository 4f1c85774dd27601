package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// restoreTime limits restoring before subscriptions get a gap.
const restoreTime = 2 * time.Second

var (
	errNewSession = errors.New("the server lost the session; a new one was opened")
	errLate       = errors.New("a new session did not accept the watched resources in time")
)

// Renewed restores the state of the previous session in a new one: the log level and the
// subscriptions. If that takes long, it continues in the background, and subscriptions get
// another gap when it is done.
func (w *Watcher) Renewed() {
	ctx, now := w.Life.Context(), w.Links.Load()
	done := make(chan struct{})
	if !w.Life.Go(func() {
		defer close(done)
		if !w.levelRestored(ctx, now) {
			w.Life.Go(func() { w.keepLevel(ctx, now) })
		}
		w.restoreResources(ctx, now)
	}) {
		return
	}
	life.Wait(done, restoreTime, ctx.Done())
	w.openStream()
	w.missed(errNewSession)
	select {
	case <-done:
	default:
		w.Life.Go(func() {
			if <-done; w.Links.Load() == now {
				w.missed(errLate)
			}
		})
	}
}

// Restarted restores the state of the previous program in a restarted one. Streams of
// subscriptions reopen on their own.
func (w *Watcher) Restarted(before *link.Agreement) {
	era := w.agreed().Era
	if before.Era != era {
		w.move()
	}
	if era == mcp.EraSession {
		w.Renewed()
		return
	}
	if level := w.level.Load(); level != nil {
		if err := w.StampLevel(*level); err != nil { // it may have been set during the restart
			w.Log.Warn("[MCP] the log level could not be set again", "server", w.Server, "error", err)
		}
	}
	if before.Era != era {
		w.listenForHandlers()
	}
	w.set.Client.Unheard(Declared(w.agreed(), AllLists))
}

// replaced reports whether the session of a link is lost, or is being renewed: then the next
// session is restored anyway.
func (w *Watcher) replaced(now *link.Link) bool {
	return w.Links.Load() != now || w.set.Keeper.Peek().Renewing() || w.Life.Closed()
}

// restoreResources subscribes a new session to the resources of the old one. If a resource is
// permanently refused, its subscriptions end with the error. If it is temporarily refused, it is
// retried in the background, until the session is replaced.
func (w *Watcher) restoreResources(ctx context.Context, now *link.Link) {
	w.mu.Lock()
	uris := slices.Sorted(maps.Keys(w.users))
	w.mu.Unlock()
	left := slices.DeleteFunc(uris, func(uri string) bool { return w.restored(ctx, now, uri) })
	if len(left) > 0 {
		w.Life.Go(func() { w.keepRestoring(ctx, now, left) })
	}
}

// keepRestoring retries the remaining resources until the session is replaced. Changes are missed
// meanwhile.
func (w *Watcher) keepRestoring(ctx context.Context, now *link.Link, left []string) {
	for n := 1; len(left) > 0; n++ {
		if !life.Sleep(ctx, Pause(n)) {
			return
		}
		left = slices.DeleteFunc(left, func(uri string) bool {
			// The turn keeps the resource from being dropped during the request.
			if take(ctx, w.turn) != nil {
				return true
			}
			defer give(w.turn)
			return w.restored(ctx, now, uri)
		})
	}
	if w.Links.Load() == now {
		w.missed(errLate)
	}
}

// restored subscribes to one resource, and reports whether nothing more is to be done for it in
// this session.
func (w *Watcher) restored(ctx context.Context, now *link.Link, uri string) bool {
	if !w.used(uri) || w.replaced(now) {
		return true
	}
	err := w.set.Client.Send(ctx, link.Restore, mcp.MethodResourcesSubscribe, "uri", uri)
	switch {
	case err == nil, w.replaced(now):
		return true
	case mcperrors.KindOf(err) == mcperrors.KindSessionLost:
		w.set.Keeper.NoteLoss(now, err)
		return true
	case Final(err):
		for _, s := range w.all() {
			if slices.Contains(s.Accepted().ResourceSubscriptions, uri) {
				s.fail(err)
			}
		}
		return true
	}
	w.Log.Warn("[MCP] a resource could not be subscribed to in the new session; retrying", "server", w.Server, "error", err)
	return false
}

// move moves the subscriptions to the other era, which a restarted program speaks: to resources
// of a session, or to streams.
func (w *Watcher) move() {
	w.mu.Lock()
	clear(w.users)
	w.mu.Unlock()
	for _, s := range w.all() {
		if w.agreed().Era == mcp.EraSession {
			s.toSession()
			continue
		}
		s.offer(Change{Gap: true})
		if !w.Life.Go(s.keepStream) {
			s.finish(w.Life.Refusal())
		}
	}
}
