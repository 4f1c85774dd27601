package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// watcher returns the part that keeps subscriptions. The first use creates it.
func (c *Client) watcher() *watch.Watcher {
	return c.subscriptions.Make(func() *watch.Watcher {
		return watch.New(&c.core, watch.Config{
			Client: (*listener)(c), ListHandlers: c.cfg.handlers.ListChanged != nil, Keeper: &c.calls.Keeper,
		})
	})
}

// listener is the part of the client that package watch uses.
type listener Client

// attend opens the stream for messages of the server if the client needs one, and starts
// liveness probes. The conversation must be open.
func (c *Client) attend() {
	if (*listener)(c).Needed() {
		c.watcher().Open()
	}
	if c.cfg.resilience.KeepAlive > 0 {
		c.core.Life.Go(func() { probeRegularly(c) })
	}
}

// NextID implements [watch.Client].
func (s *listener) NextID() jsonrpc.ID { return s.calls.NextID() }

// Meta implements [watch.Client].
func (s *listener) Meta(v mcp.Version, level json.RawMessage) ([]byte, error) {
	self := s.cfg.identity()
	return self.Meta(v, level)
}

// Forget implements [watch.Client].
func (s *listener) Forget() { (*Client)(s).lists().Clear() }

// Unheard implements [watch.Client].
func (s *listener) Unheard(lists mcp.SubscriptionFilter) {
	(*Client)(s).inbound().Notifier().Unheard(lists)
}

// Needed implements [watch.Client]. It reports whether the application waits for messages
// that a server sends on its own.
func (s *listener) Needed() bool {
	offers := s.cfg.offer.Capabilities(s.core.Links.Agreed().Version)
	w := s.subscriptions.Peek()
	return s.cfg.handlers.Any() || s.cfg.offer.HasRaw() || offers.Roots != nil || offers.Sampling != nil || offers.Elicitation != nil || w != nil && w.Any()
}

// Send implements [watch.Client].
func (s *listener) Send(ctx context.Context, purpose link.Purpose, method, param, value string) error {
	open := append(jsonrpc.AppendString([]byte("{"), param), ':')
	cl := newCall(method, nil)
	cl.Purpose, cl.Params = purpose, jsonrpc.AppendString(open, value)
	c := (*Client)(s)
	if purpose == link.Restore {
		out := c.calls.Attempt(ctx, &cl.Call)
		return out.Error()
	}
	_, err := c.do(ctx, &cl)
	return err
}

var errOtherEra = errors.New("the restarted server speaks another era; subscribe again")

// Listen implements [watch.Client].
func (s *listener) Listen(filter mcp.SubscriptionFilter) (watch.Request, error) {
	c, cl := (*Client)(s), newCall(mcp.MethodSubscriptionsListen, nil)
	if err := c.params(&cl, &mcp.SubscriptionsListenParams{Notifications: filter}); err != nil {
		return nil, err
	}
	return &listening{calls: &c.calls, call: cl.Call}, nil
}

// listening is a request subscriptions/listen, which may be sent more than once.
type listening struct {
	calls *run.Runner
	call  run.Call
	out   outcome.Outcome // of the last attempt
}

// Send implements [watch.Request].
func (l *listening) Send(ctx context.Context, id jsonrpc.ID) error {
	l.out = l.once(ctx, id)
	return l.out.Error()
}

func (l *listening) once(ctx context.Context, id jsonrpc.ID) outcome.Outcome {
	l.call.Begin(l.calls.Links.Load(), id)
	if l.call.Link.Agreed.Era != mcp.EraStateless { // the era has changed since Subscribe or the last stream
		e := mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, errOtherEra.Error(), errOtherEra)
		e.Retryable = true
		return outcome.Refused(l.calls.About(l.call.Subject(), e))
	}
	out := l.calls.Once(ctx, &l.call, jsonrpc.Wait{Endless: true})
	switch {
	case out.Failure != nil && errors.Is(context.Cause(ctx), watch.ErrServerEnds):
		return outcome.Outcome{}
	case out.Failure != nil:
		l.calls.Abandon(ctx, &l.call, id, out.Failure) // tells the server, which may not see the end of the stream
	}
	return out
}

// Repair implements [watch.Request].
func (l *listening) Repair(ctx context.Context) (again bool, err error) {
	return l.calls.Repaired(ctx, &l.call, &l.out)
}
