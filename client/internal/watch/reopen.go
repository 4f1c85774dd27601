package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Delays before a stream is opened again: short if it was lost, longer if the server ended it
// properly. They grow for streams that end soon after they opened, so that a server that ends
// them at once gets few requests.
const (
	relistenLost     = 500 * time.Millisecond
	maxRelistenLost  = time.Minute
	relistenEnded    = 10 * time.Second
	maxRelistenEnded = 5 * time.Minute
	// steadyStream is the lifetime of a stream after which earlier failures do not count.
	steadyStream = time.Minute
	// overlap is how long the old stream stays open beside a new one, so that no notification is
	// lost.
	overlap = time.Second
	// maxTwiceKey limits the keys of twice.
	maxTwiceKey = 4 << 10
)

// streamed is the state of a subscription in the stateless era. Guarded by its mu.
type streamed struct {
	stream *stream // nil before the first stream
	// moves counts the moves of the subscription into a session, where keepStream must end.
	moves int
	// twice has the changes that one of two streams has reported while both are open.
	twice map[string]*stream
}

// openStream opens the subscription in the stateless era.
func (s *Subscription) openStream(ctx context.Context) error {
	l, err := s.listen(ctx, s.asked)
	if err != nil {
		return err
	}
	s.w.add(s)
	s.replace(l)
	if !s.w.Life.Go(s.keepStream) {
		return s.w.Local(s.w.Life.Refusal(), Method)
	}
	return nil
}

// replace makes l the subscription's stream and returns the previous one.
func (s *Subscription) replace(l *stream) (before *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, s.stream = s.stream, l
	s.asked, s.accepted = l.filter, l.accepted
	return before
}

// current returns the stream, and the number of moves into a session.
func (s *Subscription) current() (*stream, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream, s.moves
}

// updateStream is Update in the stateless era: a stream's filter cannot be changed, so it opens a
// new stream, and then closes the old one. Requires s.turn.
func (s *Subscription) updateStream(ctx context.Context, filter mcp.SubscriptionFilter) error {
	s.mu.Lock()
	s.twice = map[string]*stream{}
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
		case <-before.ended: // before the new one was open; nothing else reports it
			s.missed(before)
		default:
		}
		s.w.Life.Go(func() {
			life.Sleep(before.ctx, overlap)
			s.mu.Lock()
			if s.stream == l {
				s.twice = nil
			}
			s.mu.Unlock()
			before.cancel(errClosed)
		})
	}
	return nil
}

// heard receives a change from one of the subscription's streams. It drops a change that the
// other stream has already reported.
func (s *Subscription) heard(from *stream, ch Change) {
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

// keepStream reopens the subscription's stream whenever it ends.
func (s *Subscription) keepStream() {
	tries := 0
	var last *stream
	_, moves := s.current()
	for {
		l, now := s.current()
		if now != moves {
			return
		}
		if l != last {
			select {
			case <-l.ended:
			case <-s.ctx.Done():
				return
			}
			if latest, _ := s.current(); latest != l {
				continue // replaced
			}
			if last = l; l.lasted > steadyStream {
				tries = 0
			}
			s.w.Log.Info("[MCP] The stream of a subscription has ended; it will be reopened", "server", s.w.Server, "error", l.err)
		}
		if s.w.set.Keeper.Peek().AwaitRestart(s.ctx) {
			tries = 0 // it is another program
		}
		tries++
		if (l != nil || tries > 1) && !life.Sleep(s.ctx, again(l, tries)) {
			return
		}
		if !s.reopen(l) {
			return
		}
	}
}

// again returns the delay before a stream is reopened.
func again(l *stream, tries int) time.Duration {
	if l != nil && l.err == nil {
		wait := pause(relistenEnded, maxRelistenEnded, tries)
		return max(wait, relistenEnded/2)
	}
	return Pause(tries)
}

// reopen tries once, and reports whether the subscription continues.
func (s *Subscription) reopen(l *stream) bool {
	if take(s.ctx, s.turn) != nil {
		return false
	}
	defer give(s.turn)
	if latest, _ := s.current(); latest != l {
		return true // Update was faster
	}
	if s.w.agreed().Era != mcp.EraStateless {
		return false // a program of the other era was started; see move
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
	case s.w.agreed().Era != mcp.EraStateless:
		return false // since then
	case Final(err):
		s.fail(err)
		return false
	}
	return true
}

// missed reports that changes may have been missed while no stream was open.
func (s *Subscription) missed(l *stream) {
	reason := l.err
	if reason == nil {
		reason = ErrServerEnds
	}
	var lists mcp.SubscriptionFilter
	if s.f == nil {
		lists = s.Accepted()
	}
	s.w.set.Client.Forget()
	s.w.Emit(event.SubscriptionGap{Reason: reason})
	s.w.set.Client.Unheard(lists)
	s.offer(Change{Gap: true})
}

// Final reports whether an error is permanent: the server, or a gateway before it, does not
// support subscriptions. Cached values then live until they expire.
func Final(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case mcperrors.KindUnsupported, mcperrors.KindInvalidArguments, mcperrors.KindVersion, mcperrors.KindNotFound,
		mcperrors.KindAuth, mcperrors.KindClosed:
		return true
	case mcperrors.KindTransport:
		return (e.HTTP != nil || e.Process != nil) && !e.Retryable // no endpoint, as for 404 and 405, or the program has exited
	default:
		return false
	}
}

// Pause returns the delay before the n-th try, counted from 1, to restore the state of a lost
// session or stream.
func Pause(n int) time.Duration { return pause(relistenLost, maxRelistenLost, n) }

// pause returns a random time up to a limit that doubles with each try, so that clients that
// failed together do not retry together.
func pause(first, most time.Duration, n int) time.Duration {
	bound := first
	for ; n > 1 && bound < most; n-- {
		bound *= 2
	}
	return rand.N(min(bound, most)) + 1
}
