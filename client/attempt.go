package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Every attempt leaves one record; verdicts, holds, the retry and what the meter
// is told are functions of it (resilience.md 3.1).

// exchange sends one request over the link of its call and returns what came of
// it. Every request of the client goes through here, but for the handshake's
// notifications.
func (c *Client) exchange(ctx context.Context, cl *run.Call, req transport.Request) outcome.Outcome {
	answer, err := c.live.Exchange(ctx, cl.Link, req)
	return c.outcomeOf(cl, answer, err)
}

// outcomeOf makes the outcome of an attempt from what its transport returned.
func (c *Client) outcomeOf(cl *run.Call, answer transport.Answer, err error) outcome.Outcome {
	sent := c.sent(cl)
	if answer.Error != nil { // a result has no need of it, and it costs an allocation
		sent.Declared = c.cfg.offer.Capabilities
	}
	out := outcome.Of(&sent, answer, err)
	if out.Err == nil {
		return out
	}
	s, r := cl.Subject(), &out.Record
	if out.Failure == nil {
		c.doubtTool(s, out.Err)
	} else {
		if r.Reused && cl.Retries != nil {
			r.Repeated = cl.Retries.Last.Reused
		}
		r.Repeated = cl.Crashes.Note(cl.Link, out.Failure) || r.Repeated
		if r.Class == resilience.ClassTimeout {
			// Neither the impatience of one caller nor a call that is served before this
			// one must close the server to all.
			r.OwnTimer = (cl.Purpose == link.Liveness || !c.shorter(&cl.Options)) && !c.guard.Busy(cl.Link)
		}
	}
	out.Err = c.about(s, out.Err)
	return out
}

// shorter reports whether a call's own times are shorter than the client's.
func (c *Client) shorter(o *run.Options) bool {
	less := func(own, general int64) bool { return own > 0 && (general == 0 || own < general) }
	return less(int64(o.Wait.Idle), int64(c.res.IdleTimeout)) || less(int64(o.Wait.Max), int64(c.res.MaxTime))
}

// settled is what follows from an attempt that has ended.
func (c *Client) settled(cl *run.Call, permit *guard.Permit, out *outcome.Outcome) {
	permit.Settle(out)
	if out.Err == nil {
		if cl.Attempts == 1 && out.Record.Class != resilience.ClassBrokenResult {
			c.budgets().Success()
		}
		return
	}
	if cl.Retries == nil {
		cl.Retries = &run.Retries{}
	}
	cl.Retries.Failed(out.Record)
	if f := out.Failure; f != nil && cl.Cancelable() {
		c.abandon(cl.Link, cl.ID, f)
	}
}
