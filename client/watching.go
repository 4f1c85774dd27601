package client

import (
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// watcher returns what keeps the subscriptions, which the first one makes.
func (c *Client) watcher() *watch.Watcher {
	return c.subscriptions.made(func() *watch.Watcher {
		return watch.New(watch.Config{
			Links: &c.live, Server: c.server, Log: c.log, Budget: &c.budget, Life: c.life,
			Closed: func() *mcperrors.Error {
				if c.isClosed() {
					return errClosed()
				}
				return nil
			},
			Go: c.within, Background: c.behind, Error: c.local,
			Handle: func(f func()) { c.guarded("Subscribe", f) },
			Send:   c.sendSubscribe, Listen: c.listenRequest, NextID: c.cfg.nextID, OpenStream: c.openStream,
			AwaitRestart: func(ctx context.Context) bool {
				k := c.keeper.peek()
				return k != nil && k.AwaitRestart(ctx)
			},
			Replaced: c.replaced, Lost: c.noteLoss,
			Ended: func(reason error) { c.emit(SubscriptionEnded{Reason: reason}) },
			Missed: func(reason error, lists mcp.SubscriptionFilter) {
				c.forgetAll()
				c.emit(SubscriptionGap{Reason: reason})
				c.notifier().Unheard(lists)
			},
			MissedAll: c.missed,
		})
	})
}

// subscribed reports whether there is any subscription.
func (c *Client) subscribed() bool {
	w := c.subscriptions.peek()
	return w != nil && w.Any()
}

// tell hands a notification to the subscriptions it is for. It reports false for
// what must be dropped (CHG-11).
func (c *Client) tell(n jsonrpc.Notification, on jsonrpc.ID) bool {
	if !watch.Concerns(n.Method) {
		return true
	}
	w := c.subscriptions.peek()
	if w == nil {
		if c.live.Agreed().Era != mcp.EraStateless {
			return true
		}
		w = c.watcher() // it says once what belongs to nobody
	}
	return w.Hear(n, on)
}

// listenForHandlers opens a subscription behind the application's back for
// [OnListChanged], which sessions serve without being asked: for what the
// server declares, and never without a handler (CHG-03).
func (c *Client) listenForHandlers() {
	agreed := c.live.Agreed()
	if filter := watch.Declared(agreed, watch.AllLists); c.cfg.handlers.ListChanged != nil && agreed.Declared && !watch.Empty(filter) {
		c.watcher().ListenForHandlers(filter)
	}
}

// sendSubscribe asks a session for a resource, or takes that back.
func (c *Client) sendSubscribe(ctx context.Context, purpose link.Purpose, method, uri string) error {
	cl := call{request: request{method: method, purpose: purpose}, open: jsonrpc.AppendString([]byte(`{"uri":`), uri)}
	if purpose == link.Restore {
		out := c.attempt(ctx, &cl)
		return out.Error()
	}
	_, err := c.do(ctx, &cl)
	return err
}

var errOtherEra = errors.New("the server was started again and speaks another era; subscribe again")

// listenRequest prepares a request whose stream tells of changes.
func (c *Client) listenRequest(filter mcp.SubscriptionFilter) (watch.Request, error) {
	cl := callOf(mcp.MethodSubscriptionsListen)
	if err := c.params(&cl, &mcp.SubscriptionsListenParams{Notifications: filter}); err != nil {
		return watch.Request{}, err
	}
	var out outcome.Outcome
	return watch.Request{
		Send: func(ctx context.Context, id jsonrpc.ID) error {
			out = c.listen(ctx, &cl, id)
			return out.Error()
		},
		Repair: func(ctx context.Context) (again bool, err error) { return c.repaired(ctx, &cl, &out) },
	}, nil
}

// listen sends a request once and returns when its stream is over.
func (c *Client) listen(ctx context.Context, cl *call, id jsonrpc.ID) outcome.Outcome {
	cl.id, cl.link = id, c.live.Load()
	if cl.link.Agreed.Era != mcp.EraStateless { // since Subscribe looked, or the stream before
		e := mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, errOtherEra.Error(), errOtherEra)
		e.Retryable = true
		return outcome.Refused(c.about(cl.subject(), e))
	}
	req := cl.frame()
	req.Wait = jsonrpc.Wait{Endless: true}
	out := c.exchange(ctx, cl, req)
	switch {
	case out.Failure != nil && errors.Is(context.Cause(ctx), watch.ErrServerEnds):
		return outcome.Outcome{}
	case out.Failure != nil:
		c.abandon(cl.link, id, out.Failure) // says it where ending the stream does not (CHG-07)
	}
	return out
}
