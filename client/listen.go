package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// acknowledgeTime is how long a server may take to say what it will tell of.
const acknowledgeTime = 30 * time.Second

// listening is one subscriptions/listen request of the stateless era: a request
// that is not meant to be answered soon. It is no part of the breaker's
// statistics, of the limit on requests in flight, or of any timeout (CHG-10).
type listening struct {
	s      *Subscription
	ctx    context.Context
	cancel context.CancelCauseFunc
	filter mcp.SubscriptionFilter

	once    sync.Once
	acked   chan struct{} // closed at the acknowledgement
	honored mcp.SubscriptionFilter

	ended  chan struct{} // closed when the stream is over
	err    error         // why; nil for an end in good order
	lasted time.Duration // how long it was open

	warned sync.Once
}

var (
	errUnlisten      = errors.New("the subscription was closed")
	errServerEnds    = errors.New("the server ended the subscription")
	errOtherEra      = errors.New("the server was started again and speaks another era; subscribe again")
	errNoAcknowledge = errors.New("the server did not acknowledge the subscription in time")
)

// listen opens a stream and waits for the acknowledgement, which comes first on
// it (CHG-04).
func (s *Subscription) listen(ctx context.Context, filter mcp.SubscriptionFilter) (*listening, error) {
	l := &listening{s: s, filter: filter, acked: make(chan struct{}), ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(s.ctx)
	cl := callOf(mcp.MethodSubscriptionsListen)
	if err := s.c.params(&cl, &mcp.SubscriptionsListenParams{Notifications: filter}); err != nil {
		return nil, err
	}
	if !s.c.within(func() { l.run(cl) }) {
		return nil, s.c.local(errClosed(), cl.method)
	}
	timer := time.NewTimer(acknowledgeTime)
	defer timer.Stop()
	var err error
	select {
	case <-l.acked:
		return l, nil
	case <-l.ended:
		if l.isAcked() {
			return l, nil
		}
		if err = l.err; err == nil {
			err = s.c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
				"the server ended the subscription without having acknowledged it", nil))
		}
	case <-ctx.Done():
		err = s.c.about(cl.subject(), errormap.From(context.Cause(ctx), mcperrors.Unknown))
	case <-timer.C:
		err = s.c.about(cl.subject(), errormap.Timeout(mcperrors.Unknown, errNoAcknowledge.Error(), acknowledgeTime, errNoAcknowledge))
	}
	l.cancel(errUnlisten)
	return nil, err
}

// run holds the stream until it is over, however that comes about (CHG-08).
func (l *listening) run(cl call) {
	began := time.Now()
	defer func() {
		l.lasted = time.Since(began)
		l.cancel(nil)
		close(l.ended)
	}()
	for {
		out := l.attempt(&cl)
		l.err = out.Error()
		if l.err == nil || l.isAcked() || l.ctx.Err() != nil {
			return
		}
		again, err := l.s.c.repaired(l.ctx, &cl, &out)
		if !again {
			l.err = err
			return
		}
	}
}

func (l *listening) attempt(cl *call) outcome.Outcome {
	c := l.s.c
	cl.id, cl.link = c.cfg.nextID(), c.live.Load()
	if cl.link.Agreed.Era != mcp.EraStateless { // since Subscribe looked, or the stream before
		e := mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, errOtherEra.Error(), errOtherEra)
		e.Retryable = true
		return outcome.Refused(c.about(cl.subject(), e))
	}
	req := cl.frame()
	req.Wait = jsonrpc.Wait{Endless: true}
	c.subscriptions.get().listen(cl.id, l)
	defer c.subscriptions.get().unlisten(cl.id)
	out := c.exchange(l.ctx, cl, req)
	switch {
	case out.Failure != nil && errors.Is(context.Cause(l.ctx), errServerEnds):
		return outcome.Outcome{}
	case out.Failure != nil:
		c.abandon(cl.link, cl.id, out.Failure) // says it where ending the stream does not (CHG-07)
	}
	return out
}

func (l *listening) isAcked() bool {
	select {
	case <-l.acked:
		return true
	default:
		return false
	}
}

// hear takes a notification of the stream. It is called on the goroutine that
// reads.
func (l *listening) hear(n jsonrpc.Notification) {
	switch n.Method {
	case mcp.MethodSubscriptionsAcknowledged:
		var params mcp.SubscriptionsAcknowledgedParams
		if err := params.UnmarshalJSON(n.Params); err != nil {
			l.s.c.log.Warn("[MCP] the acknowledgement of a subscription cannot be read", "server", l.s.c.server, "error", err)
			return
		}
		l.once.Do(func() {
			l.honored = params.Notifications
			close(l.acked)
		})
	default:
		if ch, ok := changeOf(n); ok {
			l.s.heard(l, ch)
		}
	}
}

// listen notes which stream an id belongs to, unlisten forgets it.
func (t *subscriptions) listen(id jsonrpc.ID, l *listening) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listens[id] = l
}

func (t *subscriptions) unlisten(id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listens, id)
}

func (t *subscriptions) listener(id jsonrpc.ID) *listening {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listens[id]
}

// tell hands a notification to the subscriptions it is for. It reports false for
// what must be dropped (CHG-11).
func (c *Client) tell(n jsonrpc.Notification, on jsonrpc.ID) bool {
	if !tellsChange(n.Method) {
		return true
	}
	if c.live.Agreed().Era == mcp.EraStateless {
		return c.tellListener(n, on)
	}
	if ch, ok := changeOf(n); ok {
		c.subscriptions.get().tell(ch)
	}
	return true
}

// tellListener sorts what comes on streams of subscriptions by stream, where
// there is one to each, else by the id it names (CHG-06, STDIO-12).
func (c *Client) tellListener(n jsonrpc.Notification, on jsonrpc.ID) bool {
	t := c.subscriptions.get()
	if n.Method == mcp.MethodCancelled {
		// The server ends a subscription; it may not cancel anything else (UTIL-05).
		var params mcp.CancelledParams
		if params.UnmarshalJSON(n.Params) == nil {
			if l := t.listener(params.RequestID); l != nil {
				l.cancel(errServerEnds)
			}
		}
		return true
	}
	named := subscriptionID(n)
	if on.IsZero() {
		l := t.listener(named)
		if l == nil {
			c.strayed(n)
			return false
		}
		l.hear(n)
		return true
	}
	if l := t.listener(on); l != nil { // else on the stream of some call, as it were
		if named != on {
			l.warned.Do(func() {
				c.log.Warn("[MCP] a notice does not name the subscription on whose stream it came", "server", c.server, "method", n.Method)
			})
		}
		l.hear(n)
	}
	return true
}

// strayed says, once, that a notice belongs to nobody: a late one, or a fault of
// the server's.
func (c *Client) strayed(n jsonrpc.Notification) {
	if !c.subscriptions.get().strayed.Swap(true) {
		c.log.Warn("[MCP] a notice that belongs to no subscription was dropped", "server", c.server, "method", n.Method)
	}
}

// subscriptionID returns the id that a notification names, zero for none.
func subscriptionID(n jsonrpc.Notification) jsonrpc.ID {
	var id jsonrpc.ID
	_ = jsonrpc.Members(n.Params, func(name, value []byte) bool {
		if string(name) != "_meta" {
			return true
		}
		if raw, ok := mcp.MetaValue(value, mcp.MetaSubscriptionID); ok {
			_ = id.UnmarshalJSON(raw) // what is no id names nothing
		}
		return false
	})
	return id
}

// tellsChange reports what subscriptions may be about.
func tellsChange(method string) bool {
	switch method {
	case mcp.MethodSubscriptionsAcknowledged, mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged,
		mcp.MethodResourcesListChanged, mcp.MethodResourcesUpdated, mcp.MethodTasks, mcp.MethodCancelled:
		return true
	}
	return false
}
