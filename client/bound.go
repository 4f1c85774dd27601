package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// span is the time that a call may take.
func (c *Client) span(cl *call) run.Span { return run.Span{Began: cl.began, Wait: c.wait(cl.opts)} }

// patience is how long an attempt is waited for: for what those before it, and
// what was waited for before, have left.
func (c *Client) patience(cl *call) jsonrpc.Wait {
	if cl.attempts > 1 || cl.waited {
		return c.span(cl).Patience()
	}
	return c.wait(cl.opts)
}

// timedOut returns the error of a call whose time is over while nothing of it is
// under way. delivery is what became of the last attempt.
func (c *Client) timedOut(cl *call, delivery mcperrors.Delivery) error {
	span := c.span(cl)
	if !span.Over() {
		return nil
	}
	return cl.retries.InDoubt(c.about(cl.subject(), errormap.Timeout(delivery, "the call did not end", span.Wait.Max, nil)))
}

// wait is how long an answer is waited for.
func (c *Client) wait(o callOptions) jsonrpc.Wait {
	if o.timesSet {
		return jsonrpc.Wait{Idle: o.idle, Max: o.max}
	}
	return jsonrpc.Wait{Idle: c.res.IdleTimeout, Max: c.res.MaxTime}
}
