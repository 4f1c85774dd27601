package client

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/internal/span"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// send makes a call, with progress if it was asked for.
func (c *Client) send(ctx context.Context, cl *call) (json.RawMessage, error) {
	if err := c.takeOptions(cl); err != nil {
		return nil, err
	}
	if cl.opts.progress != nil {
		return c.withProgress(ctx, cl)
	}
	return c.do(ctx, cl)
}

// takeOptions adds to a call what its options say of its params.
func (c *Client) takeOptions(cl *call) error {
	if cl.Meta != nil || cl.opts.meta != nil {
		if err := cl.takeMeta(); err != nil {
			return c.local(badOption(err), cl.Method)
		}
	}
	if cl.IdempotencyKey != nil && c.cfg.keyPrefix == "" && cl.Method == mcp.MethodToolsCall {
		return c.local(badOption(errNoPrefix), cl.Method)
	}
	if given := cl.opts.input; given != nil {
		if err := cl.Resume(c.live.Agreed().Version, given.responses, given.state); err != nil {
			return c.about(cl.Subject(), err)
		}
	}
	return nil
}

// do makes one call of the application, through its middleware.
func (c *Client) do(ctx context.Context, cl *call) (raw json.RawMessage, err error) {
	var began time.Time
	if c.cfg.meter != nil {
		began = time.Now()
	}
	if c.cfg.chain != nil {
		raw, err = c.runThroughMiddleware(ctx, cl)
	} else {
		raw, err = c.run(ctx, &cl.Call)
	}
	if c.cfg.meter != nil {
		c.callEnded(cl, began, err)
	}
	return raw, err
}

// run makes a call: an attempt, and another one as long as what came of the last
// asks for it.
func (c *Client) run(ctx context.Context, cl *run.Call) (json.RawMessage, error) {
	cl.Began = time.Now()
	cl.Token = c.wantsToken(cl)
	if err := c.awaitLink(ctx, cl); err != nil {
		return nil, err
	}
	if err := c.findHeaders(ctx, cl); err != nil {
		return nil, err
	}
	for {
		out := c.attempt(ctx, cl)
		again, err := c.follow(ctx, cl, &out)
		if again && err == nil {
			err = c.timedOut(cl, out.Record.Delivery)
		}
		if err != nil {
			return nil, err
		}
		if !again {
			return c.whole(ctx, cl, out.Result)
		}
	}
}

// wantsToken reports whether a call asks for progress that nobody listens to.
func (c *Client) wantsToken(cl *run.Call) bool {
	return cl.Method == mcp.MethodToolsCall && !c.cfg.noTokens && cl.Progress == nil && !cl.HasToken()
}

// follow does what an outcome asks for. It reports whether the call is sent again;
// when it is not and there is no error, the outcome's result is the call's.
func (c *Client) follow(ctx context.Context, cl *run.Call, out *outcome.Outcome) (again bool, err error) {
	facts := c.facts(cl)
	step := run.Decide(out, &facts)
	switch step {
	case run.End:
		return false, nil
	case run.Untyped:
		return false, c.acceptUntyped(cl)
	case run.Task:
		if c.becameTask(cl) {
			return false, nil
		}
		return false, c.misplaced(cl, out.Kind)
	case run.Misplaced:
		return false, c.misplaced(cl, out.Kind)
	case run.Round:
		return true, c.answerInput(ctx, cl, out.Result)
	default:
	}
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	if again, err = c.repair(ctx, cl, step, out); again || err != nil {
		return again, cl.Retries.InDoubt(err)
	}
	return c.retry(ctx, cl, out)
}

func (c *Client) facts(cl *run.Call) run.Facts {
	return run.Facts{
		Method: cl.Method, Purpose: cl.Purpose, Link: cl.Link, Had: cl.Repairs,
		Restarts: c.keeper.Peek().Restarting(), Visits: c.cfg.offer.URL != nil,
	}
}

// attempt makes one attempt: it is admitted, sent, and settled.
func (c *Client) attempt(ctx context.Context, cl *run.Call) outcome.Outcome {
	if c.life.Closed() {
		return outcome.Refused(c.about(cl.Subject(), life.ErrClosed()))
	}
	permit, err := c.guard.Admit(ctx, c.guardRequest(cl))
	cl.Waited = permit.Waited
	if err != nil {
		if permit.Lost != nil {
			cl.Link = permit.Lost // which is replaced
		}
		return outcome.Refused(err)
	}
	defer permit.Release()
	l := c.live.Load()
	if cl.Purpose == link.Handshake {
		l = c.live.Newest()
	}
	cl.Begin(l, c.cfg.nextID())
	if prefix := c.cfg.keyPrefix; prefix != "" && cl.Method == mcp.MethodToolsCall {
		if err := cl.SetStamp(prefix, c.span(cl).Remaining(ctx)); err != nil {
			return outcome.Refused(c.about(cl.Subject(), err))
		}
	}
	req := cl.Frame()
	req.Wait = c.patience(cl)
	permit.Sending(l)
	out := c.hedge(ctx, cl, req)
	if out.Result != nil && c.res.KeepAlive > 0 {
		c.pulse.beats.Add(1)
	}
	c.settled(cl, &permit, &out)
	return out
}

// guardRequest describes the next request of a call to the guard.
func (c *Client) guardRequest(cl *run.Call) guard.Request {
	return guard.Request{Subject: cl.Subject(), Purpose: cl.Purpose, Span: c.span(cl), Waited: cl.Waited}
}

// cancelTimeout bounds telling a server that a call was given up.
const cancelTimeout = 5 * time.Second

// abandon tells the server that nobody waits any more (UTIL-03, LC-15,
// HTTP-22): for a call that may have arrived and that this side gave up.
func (c *Client) abandon(l *link.Link, id jsonrpc.ID, f *transport.Failure) {
	gaveUp := f.Reason == transport.ReasonCanceled || f.Reason == transport.ReasonTimeout
	if !gaveUp || f.NotSent {
		return
	}
	if l.StatelessHTTP() {
		return // the exchange has ended, which says it (HTTP-34)
	}
	params, err := mcp.Marshal(&mcp.CancelledParams{RequestID: id, Reason: f.Err.Error()})
	if err != nil {
		return // cannot happen: the members are an id and a text
	}
	c.life.Background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		// The call has failed already; a server that cannot be told is one
		// more reason why.
		if err := l.Conn.Notify(ctx, jsonrpc.Notification{Method: mcp.MethodCancelled, Params: params}); err != nil {
			c.keeper.NoteLoss(l, err)
		}
	})
}

// span is the time that a call may take.
func (c *Client) span(cl *run.Call) span.Span {
	return span.Span{Began: cl.Began, Wait: c.wait(&cl.Options)}
}

// patience is how long an attempt is waited for: for what those before it, and
// what was waited for before, have left.
func (c *Client) patience(cl *run.Call) jsonrpc.Wait {
	if cl.Attempts > 1 || cl.Waited {
		return c.span(cl).Patience()
	}
	return c.wait(&cl.Options)
}

// timedOut returns the error of a call whose time is over while nothing of it is
// under way. delivery is what became of the last attempt.
func (c *Client) timedOut(cl *run.Call, delivery mcperrors.Delivery) error {
	whole := c.span(cl)
	if !whole.Over() {
		return nil
	}
	return cl.Retries.InDoubt(c.about(cl.Subject(), errormap.Timeout(delivery, "the call did not end", whole.Wait.Max, nil)))
}

// wait is how long an answer is waited for.
func (c *Client) wait(o *run.Options) jsonrpc.Wait {
	return jsonrpc.Wait{Idle: max(cmp.Or(o.Wait.Idle, c.res.IdleTimeout), 0), Max: max(cmp.Or(o.Wait.Max, c.res.MaxTime), 0)}
}
