package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/sleep"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// releaseTime bounds the request that tells a server to stop.
const releaseTime = 5 * time.Second

// ErrLate is why changes may have been missed in a session that was asked late.
var ErrLate = errors.New("a new session could not be told of resources to watch at once")

// openSession opens the subscription in the session era.
func (s *Subscription) openSession(ctx context.Context) error {
	if err := s.w.acquire(ctx, s.asked.ResourceSubscriptions); err != nil {
		return err
	}
	s.accepted = s.asked
	s.w.add(s)
	if e := s.w.set.Closed(); e != nil {
		return e // perhaps nobody would end it
	}
	s.w.set.OpenStream()
	return nil
}

// updateSession is Update in the session era. Requires s.turn.
func (s *Subscription) updateSession(ctx context.Context, filter mcp.SubscriptionFilter) error {
	before := s.Accepted().ResourceSubscriptions
	if err := s.w.acquire(ctx, without(filter.ResourceSubscriptions, before)); err != nil {
		return err
	}
	s.mu.Lock()
	s.asked, s.accepted = filter, filter
	ended := s.ended
	s.mu.Unlock()
	gone := without(before, filter.ResourceSubscriptions)
	if ended { // meanwhile, with what was subscribed to before
		gone = without(filter.ResourceSubscriptions, before)
	}
	s.w.release(gone)
	return nil
}

// acquire asks the server for the resources that nobody has asked for yet: for all
// of them or none.
func (w *Watcher) acquire(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		return nil
	}
	if err := take(ctx, w.turn); err != nil {
		return w.set.Error(err, mcp.MethodResourcesSubscribe)
	}
	defer give(w.turn)
	for i, uri := range uris {
		if w.use(uri) > 1 {
			continue
		}
		// It is in the table while it is asked for: should the session be
		// lost at this moment, the next one asks for it too.
		if err := w.set.Send(ctx, link.Ordinary, mcp.MethodResourcesSubscribe, uri); err != nil {
			w.drop(uri)
			w.release(uris[:i])
			return err
		}
	}
	return nil
}

// release tells the server, in the background, to stop what nobody else uses. Its
// answer does not matter: nobody listens any more.
func (w *Watcher) release(uris []string) {
	if len(uris) == 0 || w.agreed().Era != mcp.EraSession {
		return
	}
	w.set.Background(func(ctx context.Context) {
		if take(ctx, w.turn) != nil {
			return // closed: the session ends with all of it
		}
		defer give(w.turn)
		for _, uri := range uris {
			if w.drop(uri) {
				ctx, cancel := context.WithTimeout(ctx, releaseTime)
				_ = w.set.Send(ctx, link.Ordinary, mcp.MethodResourcesUnsubscribe, uri)
				cancel()
			}
		}
	})
}

func (w *Watcher) use(uri string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users[uri]++
	return w.users[uri]
}

// drop reports whether nobody uses the URI any more.
func (w *Watcher) drop(uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users[uri]--; w.users[uri] > 0 {
		return false
	}
	delete(w.users, uri)
	return true
}

func (w *Watcher) used(uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.users[uri] > 0
}

// Restore asks a new session for what the old one was asked for (RES-05). A
// subscription that cannot be opened again ends with the reason. A resource that is
// not to be had yet is asked for in the background, until the session is over.
func (w *Watcher) Restore(ctx context.Context) {
	now := w.set.Links.Load()
	w.mu.Lock()
	uris := slices.Sorted(maps.Keys(w.users))
	w.mu.Unlock()
	left := slices.DeleteFunc(uris, func(uri string) bool { return w.restored(ctx, now, uri) })
	if len(left) > 0 {
		w.set.Go(func() { w.keepRestoring(ctx, now, left) })
	}
}

// keepRestoring asks for the resources that are left as long as the session is the
// same. Changes are missed meanwhile (CHG-09).
func (w *Watcher) keepRestoring(ctx context.Context, now *link.Link, left []string) {
	for n := 1; len(left) > 0; n++ {
		if !sleep.For(ctx, Pause(n)) {
			return
		}
		left = slices.DeleteFunc(left, func(uri string) bool {
			// Nobody drops the resource while it is asked for.
			if take(ctx, w.turn) != nil {
				return true
			}
			defer give(w.turn)
			return w.restored(ctx, now, uri)
		})
	}
	if w.set.Links.Load() == now {
		w.set.MissedAll(ErrLate)
	}
}

// restored asks for one resource, and reports whether there is nothing more to do
// about it in this session.
func (w *Watcher) restored(ctx context.Context, now *link.Link, uri string) bool {
	if !w.used(uri) || w.set.Replaced(now) {
		return true
	}
	err := w.set.Send(ctx, link.Restore, mcp.MethodResourcesSubscribe, uri)
	switch {
	case err == nil, w.set.Replaced(now):
		return true
	case mcperrors.KindOf(err) == mcperrors.KindSessionLost:
		w.set.Lost(now, err)
		return true
	case Final(err):
		for _, s := range w.all() {
			if slices.Contains(s.Accepted().ResourceSubscriptions, uri) {
				s.fail(err)
			}
		}
		return true
	}
	w.set.Log.Warn("[MCP] a resource cannot be subscribed to in the new session yet", "server", w.set.Server, "error", err)
	return false
}

// Move takes the subscriptions into the other era, which a restarted program
// speaks: to resources of a session, or to streams (fault F1).
func (w *Watcher) Move() {
	w.mu.Lock()
	clear(w.users)
	w.mu.Unlock()
	for _, s := range w.all() {
		if w.agreed().Era == mcp.EraSession {
			s.toSession()
			continue
		}
		s.offer(Change{Gap: true})
		if !w.set.Go(s.keepStream) {
			s.finish(w.set.Closed())
		}
	}
}

// toSession makes a subscription one of the session era. The client's own handlers
// hear without one there.
func (s *Subscription) toSession() {
	if s.f == nil {
		s.mu.Lock()
		s.accepted = mcp.SubscriptionFilter{} // nothing of it is asked for, so nothing is to be released
		s.mu.Unlock()
		s.finish(nil)
		return
	}
	s.mu.Lock()
	filter := Declared(s.w.agreed(), s.asked)
	s.stream, s.twice, s.accepted = nil, nil, filter
	s.moves++
	s.mu.Unlock()
	if Empty(filter) {
		s.fail(s.w.refuse(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "the server was started again and does not tell of any change that was asked for"))
		return
	}
	for _, uri := range filter.ResourceSubscriptions {
		s.w.use(uri)
	}
}
