package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A client whose program or HTTP+SSE stream can end has a keeper from the start;
// others get one when a session is lost for the first time. This file is what calls
// ask of it.

// restarting returns the keeper of a client whose program or stream is restarted,
// nil for others.
func (c *Client) restarting() *keeper.Keeper {
	if k := c.keeper.Peek(); k != nil && k.Restarting() {
		return k
	}
	return nil
}

// interrupted reports whether there is no program or no session at the moment.
func (c *Client) interrupted() bool {
	k := c.keeper.Peek()
	return k != nil && k.Interrupted()
}

// awaitLink holds a call back while a program is being restarted or a session is
// being renewed: nothing goes before its handshake (LC-08).
func (c *Client) awaitLink(ctx context.Context, cl *run.Call) error {
	if !c.interrupted() {
		return nil
	}
	cl.Waited = true
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	if e := c.keeper.Peek().Await(ctx); e != nil {
		return c.about(cl.Subject(), e)
	}
	return nil
}

// relink waits for the next program or stream on behalf of a call that the last one
// did not take.
func (c *Client) relink(ctx context.Context, cl *run.Call, err error) error {
	if e := c.restarting().Replace(ctx, cl.Link, err); e != nil {
		return c.about(cl.Subject(), e)
	}
	return nil
}

// renewSession opens a new session for a call that was refused because the old one
// is gone. The call was not executed (LC-17).
func (c *Client) renewSession(ctx context.Context, cl *run.Call, err error) error {
	cl.Repairs |= run.Renewed
	if e := c.sessionKeeper().Renew(ctx, cl.Link, mcperrors.DeliveryOf(err)); e != nil {
		return c.about(cl.Subject(), e)
	}
	return nil
}

// retryableLater marks the error of a call that may have been executed as one that
// a later attempt may avoid: a session is opened for it. Delivery warns of doing it
// twice.
func retryableLater(e *mcperrors.Error) {
	if e.Delivery == mcperrors.Unknown {
		e.Retryable, e.SuggestedAction = true, "Try again"
	}
}

// noteLoss opens a new session for listeners, after something that is not made
// again has found the old one gone.
func (c *Client) noteLoss(with *link.Link, err error) {
	if outcome.FailureOf(err).Reason == transport.ReasonSession && c.needsStream() {
		c.sessionKeeper().Persist(with)
	}
}
