// Package watch keeps the subscriptions of a client in both eras. A session
// subscribes to resources one by one, and reports changes of lists without a subscription. The stateless era
// has a stream for each subscription. After a lost session, stream or program the
// package subscribes again.
package watch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Method is the name that errors have for subscribing, in both eras.
const Method = mcp.MethodSubscriptionsListen

// Config configures a [Watcher]. Every field is set.
type Config struct {
	*core.Core
	Client Client
	// Handlers reports whether the client has handlers for changes of lists.
	Handlers bool
	// Keeper replaces lost links.
	Keeper *keeper.Holder
}

// Client is what a Watcher needs of its client.
type Client interface {
	// Send sends a request with one parameter.
	Send(ctx context.Context, purpose link.Purpose, method, param, value string) error
	// Listen prepares a request subscriptions/listen.
	Listen(mcp.SubscriptionFilter) (Request, error)
	NextID() jsonrpc.ID
	// Meta encodes the members of _meta that every request of a stateless revision has.
	// level is the log level as a JSON text.
	Meta(version mcp.Version, level json.RawMessage) ([]byte, error)
	// Needed reports whether the client needs messages that a session sends on its own.
	Needed() bool
	// Forget drops the cached lists.
	Forget()
	// Unheard tells the client's handlers that lists may have changed.
	Unheard(lists mcp.SubscriptionFilter)
}

// Request is a request subscriptions/listen, which may be sent more than once.
type Request interface {
	// Send sends the request and returns when its stream is over.
	Send(ctx context.Context, id jsonrpc.ID) error
	// Repair removes the cause of the last error and reports whether the request is sent
	// again. Otherwise err is the error of the request.
	Repair(ctx context.Context) (again bool, err error)
}

// Watcher keeps the subscriptions of a client. Its methods may be called from many
// goroutines at once.
type Watcher struct {
	set  Config
	turn chan struct{} // held while the server is asked for a resource, or told to stop

	mu      sync.Mutex
	open    map[*Subscription]struct{}
	users   map[string]int // of each URI, in the session era: the server is asked once
	streams map[jsonrpc.ID]*stream
	strayed atomic.Bool // a notification that belongs to nobody was logged

	level atomic.Pointer[mcp.LoggingLevel] // as last set, nil before
}

// New returns a watcher without subscriptions.
func New(set Config) *Watcher {
	return &Watcher{
		set: set, turn: make(chan struct{}, 1),
		open: map[*Subscription]struct{}{}, users: map[string]int{}, streams: map[jsonrpc.ID]*stream{},
	}
}

// Subscribe opens a subscription; f is called for each change.
func (w *Watcher) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, f func(context.Context, Change)) (*Subscription, error) {
	if e := w.set.Life.Refusal(); e != nil {
		return nil, w.set.Local(e, Method)
	}
	filter, err := w.subscribable(filter)
	if err != nil {
		return nil, err
	}
	s := w.newSubscription(filter, f)
	if w.agreed().Era == mcp.EraStateless {
		err = s.openStream(ctx)
	} else {
		err = s.openSession(ctx)
	}
	if err != nil {
		s.finish(err)
		return nil, err
	}
	return s, nil
}

// Open opens what the client needs to hear the server, once the conversation is
// open: the session's own stream, or a subscription. A server
// that offers neither is left alone.
func (w *Watcher) Open() {
	if w.agreed().Era == mcp.EraStateless {
		w.listenForHandlers()
	} else {
		w.openStream()
	}
}

// listenForHandlers opens a subscription in the background for handlers of the
// client, which sessions serve without being asked: for what the server declares.
func (w *Watcher) listenForHandlers() {
	agreed := w.agreed()
	filter := Declared(agreed, AllLists)
	if !w.set.Handlers || !agreed.Declared || Empty(filter) {
		return
	}
	s := w.newSubscription(filter, nil)
	w.add(s)
	if !w.set.Life.Go(s.keepStream) {
		s.finish(w.set.Life.Refusal())
	}
}

// Any reports whether there is a subscription.
func (w *Watcher) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open) > 0
}

// End ends all subscriptions, once the client is closed.
func (w *Watcher) End() {
	for _, s := range w.all() {
		s.finish(w.set.Life.Refusal())
	}
}

func (w *Watcher) agreed() *link.Agreement { return w.set.Links.Agreed() }

func (w *Watcher) add(s *Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[s] = struct{}{}
}

func (w *Watcher) all() []*Subscription {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.open))
}

// remove forgets a subscription, and what nobody else uses.
func (w *Watcher) remove(s *Subscription) {
	w.mu.Lock()
	_, was := w.open[s]
	delete(w.open, s)
	w.mu.Unlock()
	if was {
		w.release(s.Accepted().ResourceSubscriptions)
	}
}

// refuse returns the error of a subscription that this side refuses.
func (w *Watcher) refuse(code mcperrors.Code, kind mcperrors.Kind, text string) error {
	return w.set.Local(mcperrors.New(code, kind, mcperrors.NotSent, text, nil), Method)
}

// take takes a turn: one goroutine at a time has it. give gives it back.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func give(turn chan struct{}) { <-turn }
