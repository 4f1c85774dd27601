package run

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// repair fixes the reason why the server did not take a request, and reports whether to send the
// call again. If not, err is the error of the call. If err is nil too, nothing could be repaired,
// and the error is the outcome's.
func (r *Runner) repair(ctx context.Context, c *Call, step Step, out *outcome.Outcome) (again bool, err error) {
	switch step {
	case Refused:
		return false, r.about(c, r.Keeper.Peek().Refusal(r.Links.Load(), c.Method))
	case Relink:
		err = r.about(c, r.Keeper.Peek().Replace(ctx, c.Link, out.Err))
		return err == nil, err
	case Renew:
		c.Repairs |= Renewed
		err = r.about(c, r.Keeper.Renew(ctx, c.Link, out.Err.Delivery))
		return err == nil, err
	case Lost:
		r.Keeper.NoteLoss(c.Link, out.Err) // a later attempt opens a session
		return false, nil
	case Headers:
		c.Repairs |= Listed
		tools := c.Tools(ctx, r.Client.Catalog())
		c.Headers, again = tools.RenewHeaders(ctx, c.Name, c.Params, c.Headers)
		return again, nil
	case Version:
		again, err = r.Client.RenewVersion(VersionRefusal{
			Err: out.Err, Sent: c.Link.Agreed.Version, Before: c.Repairs&Revised != 0,
			// A tools/call is never known to be safe to run twice.
			Repeatable: c.Method != mcp.MethodToolsCall && c.Repeat(r.Set.KeyPrefix, resilience.Proof, nil) != resilience.Unsafe,
		})
		if again {
			c.Repairs |= Revised
		}
		return again, err
	case Missing:
		return false, r.Client.MissingCapability(out.Err)
	case Visit:
		c.Repairs |= Visited
		return r.Client.Inbound().Asks().Visit(ctx, c.occasion(), outcome.RPCOf(out.Err)), nil
	default:
		return false, nil
	}
}

// Repaired repairs an outcome, once. It reports whether the request can be sent again; if not, it
// returns the error of the request.
func (r *Runner) Repaired(ctx context.Context, c *Call, out *outcome.Outcome) (again bool, _ error) {
	facts := r.facts(c, out)
	again, err := r.repair(ctx, c, Decide(out, &facts), out)
	if !again && err == nil {
		err = out.Err
	}
	return again, err
}

// Notify sends a notification.
func (r *Runner) Notify(ctx context.Context, method string, params json.RawMessage) error {
	c := New(method)
	if err := r.awaitLink(ctx, &c); err != nil {
		return err
	}
	for {
		c.Link = r.Links.Load()
		err := c.Link.Conn.Notify(ctx, jsonrpc.Notification{Method: method, Params: params})
		if err == nil {
			return nil
		}
		sent := outcome.Sent{Method: method, Restarts: r.Keeper.Peek().Restarting()}
		out := outcome.Outcome{Err: r.About(c.Subject(), outcome.OfFailure(&sent, outcome.FailureOf(err)).Err)}
		if again, err := r.Repaired(ctx, &c, &out); !again {
			return err
		}
	}
}

// answerRound answers a request for input of the server. It returns nil if the call is to be sent
// again. The user's time to answer counts against the call, not against an attempt.
func (r *Runner) answerRound(ctx context.Context, c *Call, raw json.RawMessage) error {
	if !ask.CanAsk(c.Method, c.Link.Agreed.Version) {
		return r.Undecodable(c.Subject(), errors.New("it asks for input, which this method does not support"))
	}
	round, err := ask.ReadRound(raw)
	if err != nil {
		return r.Undecodable(c.Subject(), err)
	}
	if c.Manual {
		return r.about(c, r.Client.InputError(&ask.Unanswered{Requests: round.Requests}, round.State))
	}
	ctx, cancel := r.Span(c).Bound(ctx)
	defer cancel()
	members, err := r.Client.Inbound().Asks().AnswerRound(ctx, c.occasion(), &c.Asked, round)
	if err != nil {
		return r.about(c, r.Client.InputError(err, round.State))
	}
	c.NextRound(members)
	if c.Progress != nil {
		r.Client.Inbound().Progress().Renew(c.Progress) // the next request needs a new token
	}
	return nil
}

// occasion returns the call that a question of the server belongs to.
func (c *Call) occasion() ask.Occasion {
	return ask.Occasion{Agreed: c.Link.Agreed, Method: c.Method, Tool: c.Tool}
}
