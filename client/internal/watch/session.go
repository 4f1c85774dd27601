package watch

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// releaseTime limits an unsubscribe request.
const releaseTime = 5 * time.Second

// openSession opens the subscription in the session era.
func (s *Subscription) openSession(ctx context.Context) error {
	if err := s.w.acquire(ctx, s.asked.ResourceSubscriptions); err != nil {
		return err
	}
	s.accepted = s.asked
	s.w.add(s)
	if e := s.w.Life.Refusal(); e != nil {
		return e // otherwise End might have missed it
	}
	s.w.openStream()
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
	if ended { // meanwhile, and released its previous resources
		gone = without(filter.ResourceSubscriptions, before)
	}
	s.w.release(gone)
	return nil
}

// acquire subscribes to the resources without a subscription yet: to all of them or none.
func (w *Watcher) acquire(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		return nil
	}
	if err := take(ctx, w.turn); err != nil {
		return w.Local(err, mcp.MethodResourcesSubscribe)
	}
	defer give(w.turn)
	for i, uri := range uris {
		if w.use(uri) > 1 {
			continue
		}
		// The URI is in the table during the request: if the session is lost now, the next
		// session restores it.
		if err := w.set.Client.Send(ctx, link.Ordinary, mcp.MethodResourcesSubscribe, "uri", uri); err != nil {
			w.drop(uri)
			w.release(uris[:i])
			return err
		}
	}
	return nil
}

// release unsubscribes, in the background, from resources that nothing else uses. The answer does
// not matter.
func (w *Watcher) release(uris []string) {
	if len(uris) == 0 || w.agreed().Era != mcp.EraSession {
		return
	}
	w.Life.Background(func(ctx context.Context) {
		if take(ctx, w.turn) != nil {
			return // the client is closed, which ends the session
		}
		defer give(w.turn)
		for _, uri := range uris {
			if w.drop(uri) {
				ctx, cancel := context.WithTimeout(ctx, releaseTime)
				_ = w.set.Client.Send(ctx, link.Ordinary, mcp.MethodResourcesUnsubscribe, "uri", uri)
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

// drop reports whether nothing uses the URI any more.
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

// toSession moves a subscription to the session era. There the client's own handlers need no
// subscription.
func (s *Subscription) toSession() {
	if s.f == nil {
		s.mu.Lock()
		s.accepted = mcp.SubscriptionFilter{} // nothing was subscribed to, so there is nothing to release
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
		s.fail(s.w.refuse(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "the restarted server supports none of the requested notifications"))
		return
	}
	for _, uri := range filter.ResourceSubscriptions {
		s.w.use(uri)
	}
}
