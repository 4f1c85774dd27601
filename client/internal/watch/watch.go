// Package watch maintains the subscriptions of a client in both eras. A session subscribes to
// each resource, and reports changes of lists without a subscription. The stateless era has a
// stream for each subscription. The package subscribes again after a session, stream or program
// was lost.
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

// Method is the method in errors of subscriptions, in both eras.
const Method = mcp.MethodSubscriptionsListen

// Config configures a [Watcher]. Every field is set.
type Config struct {
	Client Client
	// ListHandlers is set if the client has handlers for changes of lists.
	ListHandlers bool
	// Keeper replaces lost links.
	Keeper *keeper.Holder
}

// Client is what a Watcher needs of its client.
type Client interface {
	// Send sends a request with one parameter.
	Send(ctx context.Context, purpose link.Purpose, method, param, value string) error
	// Listen prepares a subscriptions/listen request.
	Listen(mcp.SubscriptionFilter) (Request, error)
	NextID() jsonrpc.ID
	// Meta encodes the members of _meta in every request of a stateless revision. level is the
	// log level as JSON.
	Meta(version mcp.Version, level json.RawMessage) ([]byte, error)
	// Needed reports whether the client needs messages that a session sends on its own.
	Needed() bool
	// Forget drops the cached lists.
	Forget()
	// Unheard notifies the client's handlers that lists may have changed.
	Unheard(lists mcp.SubscriptionFilter)
}

// Request is a subscriptions/listen request, which may be sent more than once.
type Request interface {
	// Send sends the request and returns when its stream has ended.
	Send(ctx context.Context, id jsonrpc.ID) error
	// Repair fixes the cause of the last error and reports whether to send the request again.
	// Otherwise err is the error of the request.
	Repair(ctx context.Context) (again bool, err error)
}

// Watcher maintains the subscriptions of a client. Its methods may be called from many goroutines
// at once.
type Watcher struct {
	*core.Core
	set  Config
	turn chan struct{} // held during subscribe and unsubscribe requests

	mu      sync.Mutex
	open    map[*Subscription]struct{}
	users   map[string]int // subscriptions per URI, in the session era: the first subscribes
	streams map[jsonrpc.ID]*stream
	strayed atomic.Bool // a notification without a subscription was logged

	level atomic.Pointer[mcp.LoggingLevel] // last level set, nil for none
}

// New returns a watcher without subscriptions.
func New(c *core.Core, set Config) *Watcher {
	return &Watcher{
		Core: c, set: set, turn: make(chan struct{}, 1),
		open: map[*Subscription]struct{}{}, users: map[string]int{}, streams: map[jsonrpc.ID]*stream{},
	}
}

// Subscribe opens a subscription. It calls f for each change.
func (w *Watcher) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, f func(context.Context, Change)) (*Subscription, error) {
	if e := w.Life.Refusal(); e != nil {
		return nil, w.Local(e, Method)
	}
	filter, err := w.subscribable(filter)
	if err != nil {
		return nil, err
	}
	s := w.newSubscription(ctx, filter, f)
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

// Open opens what the client needs to receive messages after the handshake: the session's own
// stream, or a subscription. A server may offer neither.
func (w *Watcher) Open() {
	if w.agreed().Era == mcp.EraStateless {
		w.listenForHandlers()
	} else {
		w.openStream()
	}
}

// listenForHandlers opens a subscription in the background for the client's own handlers, with
// the lists that the server declares. Sessions need none.
func (w *Watcher) listenForHandlers() {
	agreed := w.agreed()
	filter := Declared(agreed, AllLists)
	if !w.set.ListHandlers || !agreed.Declared || Empty(filter) {
		return
	}
	s := w.newSubscription(w.Life.Context(), filter, nil)
	w.add(s)
	if !w.Life.Go(s.keepStream) {
		s.finish(w.Life.Refusal())
	}
}

// Any reports whether there is a subscription.
func (w *Watcher) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open) > 0
}

// End ends all subscriptions of a closed client.
func (w *Watcher) End() {
	for _, s := range w.all() {
		s.finish(w.Life.Refusal())
	}
}

func (w *Watcher) agreed() *link.Agreement { return w.Links.Agreed() }

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

// remove removes a subscription, and releases its resources.
func (w *Watcher) remove(s *Subscription) {
	w.mu.Lock()
	_, was := w.open[s]
	delete(w.open, s)
	w.mu.Unlock()
	if was {
		w.release(s.Accepted().ResourceSubscriptions)
	}
}

// refuse returns the error of a subscription that the client refuses.
func (w *Watcher) refuse(code mcperrors.Code, kind mcperrors.Kind, text string) error {
	return w.Local(mcperrors.New(code, kind, mcperrors.NotSent, text, nil), Method)
}

// take takes a turn, which one goroutine at a time can hold. give returns it.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func give(turn chan struct{}) { <-turn }
