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
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// watcher returns what keeps the subscriptions, which the first one makes.
func (c *Client) watcher() *watch.Watcher {
	return c.subscriptions.Make(func() *watch.Watcher {
		return watch.New(watch.Config{
			Links: &c.live, Server: c.calls.Errors.Server, Log: c.calls.Log, Budget: &c.budget, Life: &c.life, Error: c.calls.Errors.Local,
			Handle: func(f func()) { callback.Run("Subscribe", c.callbackFailed, f) },
			Send:   c.sendParam, Listen: c.listenRequest, NextID: c.calls.NextID, Meta: func(v mcp.Version, level json.RawMessage) ([]byte, error) {
				self := c.cfg.identity()
				return self.Meta(v, level)
			},
			Needed: c.needsStream, Handlers: c.cfg.handlers.ListChanged != nil,
			Keeper:  &c.calls.Keeper,
			Ended:   func(reason error) { c.emit(SubscriptionEnded{Reason: reason}) },
			Forget:  func() { c.lists().Clear() },
			Gap:     func(reason error) { c.emit(SubscriptionGap{Reason: reason}) },
			Unheard: func(lists mcp.SubscriptionFilter) { c.inbound().Notifier().Unheard(lists) },
		})
	})
}

// attend opens what the client needs to hear the server, once the conversation is
// open, and begins to ask for signs of life.
func (c *Client) attend() {
	if c.needsStream() {
		c.watcher().Open()
	}
	if c.cfg.resilience.KeepAlive > 0 {
		c.life.Go(c.watchLife)
	}
}

// needsStream reports whether the application waits for what a server sends by
// itself.
func (c *Client) needsStream() bool {
	offers := c.cfg.offer.Capabilities(c.live.Agreed().Version)
	w := c.subscriptions.Peek()
	return c.cfg.handlers.Any() || offers.Roots != nil || offers.Sampling != nil || offers.Elicitation != nil || w != nil && w.Any()
}

// sendParam sends a request with one parameter.
func (c *Client) sendParam(ctx context.Context, purpose link.Purpose, method, param, value string) error {
	open := append(jsonrpc.AppendString([]byte("{"), param), ':')
	cl := newCall(method, nil)
	cl.Purpose, cl.Params = purpose, jsonrpc.AppendString(open, value)
	if purpose == link.Restore {
		out := c.calls.Attempt(ctx, &cl.Call)
		return out.Error()
	}
	_, err := c.do(ctx, &cl)
	return err
}

var errOtherEra = errors.New("the restarted server speaks another era; subscribe again")

// listenRequest prepares a request whose stream tells of changes.
func (c *Client) listenRequest(filter mcp.SubscriptionFilter) (watch.Request, error) {
	cl := newCall(mcp.MethodSubscriptionsListen, nil)
	if err := c.params(&cl, &mcp.SubscriptionsListenParams{Notifications: filter}); err != nil {
		return watch.Request{}, err
	}
	l := &listening{calls: &c.calls, call: cl.Call}
	return watch.Request{Send: l.send, Repair: l.repair}, nil
}

// listening is a request subscriptions/listen, which may be sent more than once.
type listening struct {
	calls *run.Runner
	call  run.Call
	out   outcome.Outcome // of the last time
}

// send sends the request once and returns when its stream is over.
func (l *listening) send(ctx context.Context, id jsonrpc.ID) error {
	l.out = l.once(ctx, id)
	return l.out.Error()
}

func (l *listening) once(ctx context.Context, id jsonrpc.ID) outcome.Outcome {
	l.call.Begin(l.calls.Links.Load(), id)
	if l.call.Link.Agreed.Era != mcp.EraStateless { // since Subscribe looked, or the stream before
		e := mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, errOtherEra.Error(), errOtherEra)
		e.Retryable = true
		return outcome.Refused(l.calls.Errors.About(l.call.Subject(), e))
	}
	out := l.calls.Once(ctx, &l.call, jsonrpc.Wait{Endless: true})
	switch {
	case out.Failure != nil && errors.Is(context.Cause(ctx), watch.ErrServerEnds):
		return outcome.Outcome{}
	case out.Failure != nil:
		l.calls.Abandon(ctx, &l.call, id, out.Failure) // says it where ending the stream does not (CHG-07)
	}
	return out
}

// repair repairs what the outcome of send asks for. It reports whether the request can
// be sent again.
func (l *listening) repair(ctx context.Context) (again bool, err error) {
	return l.calls.Repaired(ctx, &l.call, &l.out)
}
