package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Change reports a change on the server; see [Client.Subscribe].
type Change struct {
	// Method is the method of the notification, such as
	// [mcp.MethodToolsListChanged] or [mcp.MethodResourcesUpdated].
	Method string
	// URI is the resource that was updated: one of the filter's, or one below it.
	// It is empty for other methods.
	URI string
	// Params are the parameters of the notification, unchanged.
	Params json.RawMessage
	// Gap reports that changes may have been missed: the stream was interrupted
	// and is open again, or the handler was too slow. Fetch everything again that
	// the subscription is about. Method is empty then.
	Gap bool
}

// Subscription is an open subscription; see [Client.Subscribe]. Its methods
// are safe for concurrent use and may be called from its handler.
type Subscription struct{ s *watch.Subscription }

// Subscribe calls f for each change on the server that filter asks for. The calls
// come one after the other, on a goroutine of the subscription. A change that is
// repeated while f runs is reported once: f should fetch the current state, not
// count.
//
// It works the same in both eras. In the session era the client subscribes to each
// resource, and servers report lists without being asked. In the stateless era the
// client holds a stream open; Subscribe waits up to 30 s for the server to accept
// it. After a lost session or stream the client subscribes again, and f gets a
// Change with Gap set.
//
// Subscribe leaves out what the server did not declare; see
// [Subscription.Accepted]. It returns E205 when nothing is left. ctx bounds opening
// only: the subscription lives until it or the client is closed.
func (c *Client) Subscribe(ctx context.Context, filter mcp.SubscriptionFilter, f func(ctx context.Context, ch Change)) (*Subscription, error) {
	if f == nil {
		return nil, c.core.Local(badOption(errNoHandler), watch.Method)
	}
	s, err := c.watcher().Subscribe(ctx, filter, func(ctx context.Context, ch watch.Change) { f(ctx, Change(ch)) })
	if err != nil {
		return nil, err
	}
	return &Subscription{s}, nil
}

var errNoHandler = errors.New("Subscribe needs a handler for changes")

// Update replaces the filter. No change is missed or reported twice meanwhile.
// On error the subscription is unchanged.
func (s *Subscription) Update(ctx context.Context, filter mcp.SubscriptionFilter) error {
	return s.s.Update(ctx, filter)
}

// Accepted returns the part of the filter that the server supports. Fetch
// everything else again when its time to live is over.
func (s *Subscription) Accepted() mcp.SubscriptionFilter { return s.s.Accepted() }

// Done returns a channel that is closed when the subscription has ended for good. A
// lost stream is not its end: the client opens it again.
func (s *Subscription) Done() <-chan struct{} { return s.s.Done() }

// Err returns why the subscription has ended; nil before that, and after Close.
func (s *Subscription) Err() error { return s.s.Err() }

// Close ends the subscription. It tells the server in the background. After Close
// the handler is not called again, but a call that is running continues. Close may
// be called more than once and returns nil.
func (s *Subscription) Close() error {
	s.s.Close()
	return nil
}
