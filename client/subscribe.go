package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Change is what a [Subscription] tells: that something on the server is not
// what it was.
type Change struct {
	// Method is the notification's, such as
	// [mcp.MethodToolsListChanged] or [mcp.MethodResourcesUpdated].
	Method string
	// URI is the resource that was updated: one that was asked for, or one
	// below it. Empty for other methods.
	URI string
	// Params are the notification's, as they came.
	Params json.RawMessage
	// Gap says that changes may have been missed: the stream was interrupted
	// and is open again, or the handler was too slow. Everything the
	// subscription is about should be fetched again. Method is empty then.
	Gap bool
}

// same reports whether telling one of two changes tells both.
func (ch Change) same(other Change) bool {
	return ch.Method == other.Method && ch.URI == other.URI && ch.Gap == other.Gap && ch.Method != mcp.MethodTasks
}

// size is about what the change takes while it waits.
func (ch Change) size() int { return len(ch.Params) + len(ch.URI) }

// maxChanges is how many changes wait for a handler. One more, and it is told
// of a gap in the place of all of them.
const maxChanges = 256

// Subscription is what [Client.Subscribe] opened. Its methods may be called
// from many goroutines at once, and from its handler.
type Subscription struct {
	c *Client
	f func(context.Context, Change) // nil for the one of the client's own handlers

	ctx  context.Context // ends with the subscription
	end  context.CancelFunc
	done chan struct{}
	turn chan struct{} // taken by who changes what is listened to

	mu       sync.Mutex
	asked    mcp.SubscriptionFilter
	honored  mcp.SubscriptionFilter
	queue    []Change
	handling bool
	ended    bool
	err      error
	listened // in the stateless era
}

// Subscribe asks to be told of changes and calls f for each, one after the
// other, on a goroutine of the subscription's own. Changes that were told while
// f ran are told once: f is to fetch what is there now, not to count.
//
// It works the same in both eras: the session era subscribes to each resource
// and takes what the server tells of lists by itself; the stateless era holds a
// stream open, which Subscribe waits for, at most [acknowledgeTime]. After a
// lost session or stream the client subscribes again, and f gets a Change with
// Gap set.
//
// Kinds the server did not declare are left out; [Subscription.Honored] tells
// what is left, and nothing left is E205. ctx bounds opening only: the
// subscription lives until its Close or the client's.
func (c *Client) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, f func(ctx context.Context, ch Change)) (*Subscription, error) {
	if f == nil {
		return nil, c.local(badOption(errNoHandler), subscribeName)
	}
	if c.isClosed() {
		return nil, c.local(errClosed(), subscribeName)
	}
	filter, err := c.subscribable(filter)
	if err != nil {
		return nil, err
	}
	s := c.newSubscription(filter, f)
	if c.live.Agreed().Era == mcp.EraStateless {
		err = s.openListen(ctx)
	} else {
		err = s.openWatch(ctx)
	}
	if err != nil {
		s.finish(err)
		return nil, err
	}
	return s, nil
}

func (c *Client) newSubscription(filter mcp.SubscriptionFilter, f func(context.Context, Change)) *Subscription {
	c.subscriptions.get().ready()
	s := &Subscription{c: c, f: f, asked: filter, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(c.life)
	return s
}

// Update replaces what the subscription is about. Nothing is missed meanwhile:
// what is new is opened before what is old is closed, and what is told twice is
// handed on once. After an error everything is as it was.
func (s *Subscription) Update(ctx context.Context, filter mcp.SubscriptionFilter) error {
	filter, err := s.c.subscribable(filter)
	if err != nil {
		return err
	}
	if err := take(ctx, s.turn); err != nil {
		return s.c.local(err, subscribeName)
	}
	defer give(s.turn)
	if s.isOver() {
		return s.c.local(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the subscription has ended; open another one", nil), subscribeName)
	}
	if s.c.live.Agreed().Era == mcp.EraStateless {
		return s.relisten(ctx, filter)
	}
	return s.rewatch(ctx, filter)
}

// Honored returns what the server said it will tell of: less than what was
// asked for when it does not have all of it. What is not honoured is to be
// fetched when its time to live is over.
func (s *Subscription) Honored() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.honored
}

// Done is closed when the subscription has ended for good. A lost stream is not
// its end: it is opened again.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err returns why the subscription has ended, nil before, and nil after Close.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription and tells the server, without waiting for it. f
// is not called any more once Close has returned, but a call of it that is
// under way goes on. It may be called again.
func (s *Subscription) Close() error {
	s.finish(nil)
	return nil
}

// finish ends the subscription; the first reason counts.
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
	s.c.subscriptions.get().remove(s)
	close(s.done)
}

func (s *Subscription) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// offer queues a change for the handler. It never waits.
func (s *Subscription) offer(ch Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.f == nil || slices.ContainsFunc(s.queue, ch.same) {
		return
	}
	if len(s.queue) >= maxChanges || !s.c.budget.Take(ch.size()) {
		s.clear()
		ch = Change{Gap: true}
	}
	s.queue = append(s.queue, ch)
	if !s.handling {
		s.handling = s.c.within(s.handle)
	}
}

func (s *Subscription) handle() {
	callback.InTurn(s.c.work.Go, func() bool {
		ch, ok := s.next()
		if ok {
			s.c.guarded("Subscribe", func() { s.f(s.c.life, ch) })
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
	s.c.budget.Give(ch.size())
	return ch, true
}

// clear drops what waits. Requires s.mu.
func (s *Subscription) clear() {
	for _, ch := range s.queue {
		s.c.budget.Give(ch.size())
	}
	s.queue = nil
}

var errNoHandler = errors.New("Subscribe needs a function to tell of changes")

// subscribeName is what errors call the method in both eras.
const subscribeName = mcp.MethodSubscriptionsListen

// allLists asks for every list.
var allLists = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

// subscribable returns the part of a filter the server declared (LC-11,
// DISC-15), each URI once.
func (c *Client) subscribable(filter mcp.SubscriptionFilter) (mcp.SubscriptionFilter, error) {
	s := subject{method: subscribeName}
	if slices.Contains(filter.ResourceSubscriptions, "") || slices.Contains(filter.TaskIDs, "") {
		return filter, c.about(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"a URI or task to subscribe to must not be empty", nil))
	}
	if empty(filter) {
		return filter, c.about(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the filter names nothing to be told of", nil))
	}
	offered := c.declared(filter)
	if empty(offered) {
		return filter, c.about(s, mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
			"MCP server does not tell of any change that was asked for", nil))
	}
	return offered, nil
}

func (c *Client) declared(filter mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	agreed := c.live.Agreed()
	filter.ResourceSubscriptions = distinct(filter.ResourceSubscriptions)
	filter.TaskIDs = distinct(filter.TaskIDs)
	if agreed.Era == mcp.EraSession {
		filter.TaskIDs = nil // tasks tell of themselves there
	}
	if !agreed.Declared {
		return filter
	}
	caps := agreed.Capabilities
	filter.ToolsListChanged = filter.ToolsListChanged && caps.Tools != nil && caps.Tools.ListChanged
	filter.PromptsListChanged = filter.PromptsListChanged && caps.Prompts != nil && caps.Prompts.ListChanged
	filter.ResourcesListChanged = filter.ResourcesListChanged && caps.Resources != nil && caps.Resources.ListChanged
	if caps.Resources == nil || !caps.Resources.Subscribe {
		filter.ResourceSubscriptions = nil
	}
	if _, ok := caps.Extensions[mcp.ExtensionTasks]; !ok {
		filter.TaskIDs = nil
	}
	return filter
}

func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

func empty(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged &&
		len(f.ResourceSubscriptions) == 0 && len(f.TaskIDs) == 0
}

// take takes a turn, give gives it back: only one may be at it, and one who
// waits can give up.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func give(turn chan struct{}) { <-turn }

// changeOf reads a notification that tells of a change; ok is false for others.
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
