package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// repair puts right what kept the server from taking a request. It reports whether
// the call is to be sent again. When it is not, err is the error of the call, nil
// where nothing could be repaired: then the outcome's error stands.
func (c *Client) repair(ctx context.Context, cl *run.Call, step run.Step, out *outcome.Outcome) (again bool, err error) {
	switch step {
	case run.Refused:
		return false, c.refusal(cl.Subject(), c.keeper.Peek().Refusal(c.live.Load(), cl.Method))
	case run.Relink:
		err = c.refusal(cl.Subject(), c.keeper.Peek().Replace(ctx, cl.Link, out.Err))
		return err == nil, err
	case run.Renew:
		cl.Repairs |= run.Renewed
		err = c.refusal(cl.Subject(), c.keeper.Renew(ctx, cl.Link, out.Err.Delivery))
		return err == nil, err
	case run.Lost:
		c.keeper.NoteLoss(cl.Link, out.Err)
		if out.Err.Delivery == mcperrors.Unknown { // a session is opened for a later attempt
			out.Err.Retryable, out.Err.SuggestedAction = true, "Try again"
		}
		return false, nil
	case run.Headers:
		cl.Repairs |= run.Listed
		cl.Headers, again = c.catalog().RenewHeaders(ctx, cl.Name, cl.Params, cl.Headers)
		return again, nil
	case run.Version:
		return c.renewVersion(cl, out.Err)
	case run.Missing:
		return false, missing(out.Err)
	case run.Visit:
		cl.Repairs |= run.Visited
		at := ask.Occasion{Agreed: cl.Link.Agreed, Method: cl.Method, Tool: cl.Tool}
		return c.inbound().Asks().Visit(ctx, at, outcome.RPCOf(out.Err)), nil
	default:
		return false, nil
	}
}

// repaired repairs what an outcome asks for, once. It reports whether the request
// can be sent again, else it returns the error of the request.
func (c *Client) repaired(ctx context.Context, cl *run.Call, out *outcome.Outcome) (again bool, _ error) {
	facts := c.facts(cl)
	again, err := c.repair(ctx, cl, run.Decide(out, &facts), out)
	if !again && err == nil {
		err = out.Err
	}
	return again, err
}
