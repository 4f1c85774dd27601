package watch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Change is a change on the server.
type Change struct {
	Method string
	URI    string
	Params json.RawMessage
	// Gap is set if changes may have been missed. Method is empty then.
	Gap bool
}

// same reports whether reporting one of two changes is enough.
func (ch Change) same(other Change) bool {
	return ch.Method == other.Method && ch.URI == other.URI && ch.Gap == other.Gap && ch.Method != mcp.MethodTasks
}

// size estimates the memory of a queued change.
func (ch Change) size() int { return len(ch.Params) + len(ch.URI) }

// changeOf reads a notification of a change; ok is false for other notifications.
func changeOf(n jsonrpc.Notification) (ch Change, ok bool) {
	ch = Change{Method: n.Method, Params: n.Params}
	switch n.Method {
	case mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged, mcp.MethodTasks:
		return ch, true
	case mcp.MethodResourcesUpdated:
		var params struct {
			URI string `json:"uri"`
		}
		if jsonrpc.Unmarshal(n.Params, &params) != nil || params.URI == "" {
			return ch, false
		}
		ch.URI = params.URI
		return ch, true
	}
	return ch, false
}

// maxChanges limits the changes that wait for a handler. If there are more, a gap replaces all of
// them.
const maxChanges = 256

// Subscription is one subscription. Its methods may be called from many goroutines
// at once, and from its handler.
type Subscription struct {
	w *Watcher
	f func(context.Context, Change) // nil for the client's own handlers

	ctx  context.Context // ends with the subscription
	end  context.CancelFunc
	done chan struct{}
	turn chan struct{} // held while the filter or the stream changes

	mu       sync.Mutex
	asked    mcp.SubscriptionFilter
	accepted mcp.SubscriptionFilter
	queue    []Change
	handling bool
	ended    bool
	err      error
	streamed // in the stateless era
}

// newSubscription returns a subscription whose requests have the values of ctx.
func (w *Watcher) newSubscription(ctx context.Context, filter mcp.SubscriptionFilter, f func(context.Context, Change)) *Subscription {
	s := &Subscription{w: w, f: f, asked: filter, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(w.Life.Values(ctx))
	return s
}

// Update replaces the filter. New resources are added before old ones are released. After an
// error nothing has changed.
func (s *Subscription) Update(ctx context.Context, filter mcp.SubscriptionFilter) error {
	filter, err := s.w.subscribable(filter)
	if err != nil {
		return err
	}
	if err := take(ctx, s.turn); err != nil {
		return s.w.Local(err, Method)
	}
	defer give(s.turn)
	if s.isOver() {
		return s.w.refuse(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, "the subscription has ended; open another one")
	}
	if s.w.agreed().Era == mcp.EraStateless {
		return s.updateStream(ctx, filter)
	}
	return s.updateSession(ctx, filter)
}

// Accepted returns the part of the filter that the server serves.
func (s *Subscription) Accepted() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Done returns a channel that is closed when the subscription has ended for good.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err returns why the subscription has ended, nil before that and after Close.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription and unsubscribes in the background.
func (s *Subscription) Close() { s.finish(nil) }

// finish ends the subscription; the first reason is kept.
func (s *Subscription) finish(reason error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended, s.err = true, reason
	s.clear()
	s.mu.Unlock()
	s.end()
	s.w.remove(s)
	close(s.done)
}

// fail ends a subscription that cannot be reopened, and reports it.
func (s *Subscription) fail(reason error) {
	s.finish(reason)
	s.w.Log.Warn("[MCP] a subscription has ended", "server", s.w.Server, "error", reason)
	s.w.Emit(event.SubscriptionEnded{Reason: reason})
}

func (s *Subscription) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// offer queues a change for the handler. It never blocks.
func (s *Subscription) offer(ch Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.f == nil || slices.ContainsFunc(s.queue, ch.same) {
		return
	}
	if len(s.queue) >= maxChanges || !s.w.Budget.Take(ch.size()) {
		s.clear()
		ch = Change{Gap: true}
	}
	s.queue = append(s.queue, ch)
	if !s.handling {
		s.handling = s.w.Life.Go(s.handle)
	}
}

func (s *Subscription) handle() {
	spawn := func(f func()) { s.w.Life.Go(f) } // once the client is closed, nothing is queued
	callback.InTurn(spawn, func() bool {
		ch, ok := s.next()
		if ok {
			callback.Run("Subscribe", s.w.Failed, func() { s.f(s.w.Life.Context(), ch) })
		}
		return ok
	})
}

func (s *Subscription) next() (ch Change, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue, s.handling = nil, false
		return ch, false
	}
	ch = s.queue[0]
	s.queue = s.queue[1:]
	s.w.Budget.Give(ch.size())
	return ch, true
}

// clear drops the queue. Requires s.mu.
func (s *Subscription) clear() {
	for _, ch := range s.queue {
		s.w.Budget.Give(ch.size())
	}
	s.queue = nil
}
