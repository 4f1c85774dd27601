package client

import (
	"context"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A whole call may take as long as one attempt of it at most: rounds, pauses and
// corrections share the time, whatever the server says (decisions 26, RSL-07).

// left is what is left of a call's time. bounded is false for a call without a
// maximum time, and for what is one attempt only.
func (c *Client) left(cl *call) (left time.Duration, bounded bool) {
	most := c.wait(cl.opts).Max
	if most <= 0 || cl.began.IsZero() {
		return 0, false
	}
	return most - time.Since(cl.began), true
}

// patience is how long an attempt is waited for: for what those before it, and
// what was waited for before, have left.
func (c *Client) patience(cl *call) jsonrpc.Wait {
	wait := c.wait(cl.opts)
	if cl.attempts > 1 || cl.waited {
		if left, bounded := c.left(cl); bounded {
			wait.Max = max(left, 1) // 0 would be without end
		}
	}
	return wait
}

// inTime bounds what is done before and between the attempts of a call.
func (c *Client) inTime(ctx context.Context, cl *call) (context.Context, context.CancelFunc) {
	if left, bounded := c.left(cl); bounded {
		return context.WithTimeout(ctx, left)
	}
	return ctx, func() {}
}

// timedOut returns the error of a call whose time is over while nothing of it is
// under way. delivery is what became of the last attempt.
func (c *Client) timedOut(cl *call, delivery mcperrors.Delivery) error {
	if left, bounded := c.left(cl); !bounded || left > 0 {
		return nil
	}
	return c.inDoubt(cl, c.about(cl.subject(), errormap.Timeout(delivery, "the call did not end", c.wait(cl.opts).Max, nil)))
}

// wait is how long an answer is waited for.
func (c *Client) wait(o callOptions) jsonrpc.Wait {
	if o.timesSet {
		return jsonrpc.Wait{Idle: o.idle, Max: o.max}
	}
	return jsonrpc.Wait{Idle: c.res.IdleTimeout, Max: c.res.MaxTime}
}
