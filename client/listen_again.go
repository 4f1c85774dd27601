package client

import (
	"context"
	"errors"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Times of opening a stream again (CHG-08): soon where it was lost, later where
// the server ended it in good order. Streams that end soon after they began are
// opened at ever longer intervals, so that a server which ends them at once
// sees few (pain 11).
const (
	relistenLost     = 500 * time.Millisecond
	maxRelistenLost  = time.Minute
	relistenEnded    = 10 * time.Second
	maxRelistenEnded = 5 * time.Minute
	// steadyStream is how long a stream lasts that says that all is well again.
	steadyStream = time.Minute
	// overlap is how long the old stream stays open beside a new one, so that
	// what is on its way is not lost.
	overlap = time.Second
	// maxTwiceKey bounds what is remembered of a change meanwhile.
	maxTwiceKey = 4 << 10
)

// listened is what a subscription has in the stateless era. Guarded by its mu.
type listened struct {
	stream *listening // nil before the first
	// moves counts how often the subscription was taken into a session, where
	// nobody keeps a stream open.
	moves int
	// twice holds what one of two streams has told while both are open.
	twice map[string]*listening
}

// openListen opens the subscription in the stateless era.
func (s *Subscription) openListen(ctx context.Context) error {
	l, err := s.listen(ctx, s.asked)
	if err != nil {
		return err
	}
	s.c.subscriptions.get().add(s)
	s.replace(l)
	if !s.c.within(s.keepListening) {
		return s.c.local(errClosed(), subscribeName)
	}
	return nil
}

// replace makes l the subscription's stream and returns the one before.
func (s *Subscription) replace(l *listening) (before *listening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.stream = s.stream, l
	s.asked, s.honored = l.filter, l.honored
	return before
}

func (s *Subscription) current() *listening {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// stands is current, and how often the subscription has moved.
func (s *Subscription) stands() (*listening, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream, s.moves
}

// relisten is Update in the stateless era: a stream's filter cannot be changed,
// so there is a new stream, and the old one ends when that is open. Requires
// s.turn.
func (s *Subscription) relisten(ctx context.Context, filter mcp.SubscriptionFilter) error {
	s.mu.Lock()
	s.twice = map[string]*listening{}
	s.mu.Unlock()
	l, err := s.listen(ctx, filter)
	if err != nil {
		s.mu.Lock()
		s.twice = nil
		s.mu.Unlock()
		return err
	}
	if before := s.replace(l); before != nil {
		select {
		case <-before.ended: // before this one was open, and nobody else will tell
			s.missed(before)
		default:
		}
		s.c.within(func() {
			sleep(before.ctx, overlap)
			s.mu.Lock()
			if s.stream == l {
				s.twice = nil
			}
			s.mu.Unlock()
			before.cancel(errUnlisten)
		})
	}
	return nil
}

// heard takes a change from one of the subscription's streams. What both of two
// streams tell is told once (CHG-05).
func (s *Subscription) heard(from *listening, ch Change) {
	key := ch.Method + " " + ch.URI
	s.mu.Lock()
	if s.twice != nil && ch.Method != mcp.MethodTasks {
		if first, ok := s.twice[key]; ok && first != from {
			delete(s.twice, key)
			s.mu.Unlock()
			return
		}
		if len(s.twice) < maxChanges && len(key) <= maxTwiceKey {
			s.twice[key] = from
		}
	}
	s.mu.Unlock()
	s.offer(ch)
}

// keepListening opens the subscription's stream again whenever it is over.
func (s *Subscription) keepListening() {
	tries := 0
	var last *listening
	_, moves := s.stands()
	for {
		l, now := s.stands()
		if now != moves {
			return
		}
		if l != last {
			select {
			case <-l.ended:
			case <-s.ctx.Done():
				return
			}
			if s.current() != l {
				continue // replaced
			}
			if last = l; l.lasted > steadyStream {
				tries = 0
			}
			s.c.log.Info("[MCP] The stream of a subscription is over; it will be opened again", "server", s.c.server, "error", l.err)
		}
		if k := s.c.keeper.peek(); k != nil && k.AwaitRestart(s.ctx) {
			tries = 0 // it is another one
		}
		tries++
		if (l != nil || tries > 1) && !sleep(s.ctx, again(l, tries)) {
			return
		}
		if !s.listenAgain(l) {
			return
		}
	}
}

// again is the wait before a stream is opened again.
func again(l *listening, tries int) time.Duration {
	if l != nil && l.err == nil {
		wait := pause(relistenEnded, maxRelistenEnded, tries)
		return max(wait, relistenEnded/2)
	}
	return pause(relistenLost, maxRelistenLost, tries)
}

// listenAgain tries once, and reports whether the subscription goes on.
func (s *Subscription) listenAgain(l *listening) bool {
	if take(s.ctx, s.turn) != nil {
		return false
	}
	defer give(s.turn)
	if s.current() != l {
		return true // Update was quicker
	}
	if s.c.live.Agreed().Era != mcp.EraStateless {
		return false // a program of the other era was started: see moveSubscriptions
	}
	s.mu.Lock()
	filter := s.asked
	s.mu.Unlock()
	next, err := s.listen(s.ctx, filter)
	switch {
	case s.ctx.Err() != nil:
		return false
	case err == nil:
		s.replace(next)
		if l != nil {
			s.missed(l)
		}
		return true
	case s.c.live.Agreed().Era != mcp.EraStateless:
		return false // since then
	case refusedForGood(err):
		s.fail(err)
		return false
	}
	return true
}

// missed says that changes may have been missed while no stream was open
// (CHG-09).
func (s *Subscription) missed(l *listening) {
	reason := l.err
	if reason == nil {
		reason = errServerEnds
	}
	s.c.forgetAll()
	s.c.emit(SubscriptionGap{Reason: reason})
	if s.f == nil {
		s.c.tellListsChanged(s.Honored())
	}
	s.offer(Change{Gap: true})
}

// refusedForGood reports the refusals that asking again does not change: the
// server, or something before it, does not have subscriptions. What is cached
// lives for its time then (pain 9).
func refusedForGood(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case mcperrors.KindUnsupported, mcperrors.KindInvalidArguments, mcperrors.KindVersion, mcperrors.KindNotFound,
		mcperrors.KindAuth, mcperrors.KindClosed:
		return true
	case mcperrors.KindTransport:
		return (e.HTTP != nil || e.Process != nil) && !e.Retryable // no endpoint, as 404 and 405 say, or no program any more
	default:
		return false
	}
}

// listenForHandlers opens a subscription behind the application's back for
// [OnListChanged], which sessions serve without being asked: for what the
// server declares, and never without a handler (CHG-03).
func (c *Client) listenForHandlers() {
	filter := c.declared(allLists)
	if c.cfg.onListChanged == nil || !c.live.Agreed().Declared || empty(filter) {
		return
	}
	s := c.newSubscription(filter, nil)
	c.subscriptions.get().add(s)
	if !c.within(s.keepListening) {
		s.finish(errClosed())
	}
}
