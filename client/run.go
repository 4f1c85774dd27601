package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
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
	if cl.meta != nil || cl.opts.meta != nil {
		if err := cl.checkedMeta(); err != nil {
			return c.local(err, cl.method)
		}
	}
	if cl.opts.input != nil {
		return c.resume(cl)
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
		raw, err = c.run(ctx, cl)
	}
	if c.cfg.meter != nil {
		c.callEnded(cl, began, err)
	}
	return raw, err
}

// run makes a call: an attempt, and another one as long as what came of the last
// asks for it.
func (c *Client) run(ctx context.Context, cl *call) (json.RawMessage, error) {
	cl.began = time.Now()
	cl.token = c.wantsToken(cl)
	if err := c.awaitLink(ctx, cl); err != nil {
		return nil, err
	}
	if err := c.mirrorArguments(ctx, cl); err != nil {
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

// follow does what an outcome asks for. It reports whether the call is sent again;
// when it is not and there is no error, the outcome's result is the call's.
func (c *Client) follow(ctx context.Context, cl *call, out *outcome.Outcome) (again bool, err error) {
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
		return again, cl.retries.InDoubt(err)
	}
	return c.retry(ctx, cl, out)
}

func (c *Client) facts(cl *call) run.Facts {
	return run.Facts{
		Method: cl.method, Purpose: cl.purpose, Link: cl.link, Had: cl.repairs,
		Restarts: c.restarting() != nil, Visits: c.cfg.offer.URL != nil,
	}
}

// attempt makes one attempt: it is admitted, sent, and settled.
func (c *Client) attempt(ctx context.Context, cl *call) outcome.Outcome {
	if c.isClosed() {
		return outcome.Refused(c.about(cl.subject(), errClosed()))
	}
	var p permits
	defer c.release(&p)
	if err := c.admit(ctx, cl, &p); err != nil {
		return outcome.Refused(err)
	}
	l := c.live.Load()
	if cl.purpose == link.Handshake {
		l = c.live.Newest()
	}
	cl.begin(l, c.cfg.nextID())
	if err := c.stamp(ctx, cl); err != nil {
		return outcome.Refused(err)
	}
	req := cl.frame()
	req.Wait = c.patience(cl)
	c.sending(cl, &p)
	out := c.hedge(ctx, cl, req)
	if out.Result != nil && c.cfg.keepAlive > 0 {
		c.pulse.beats.Add(1)
	}
	c.settled(cl, &p, &out)
	return out
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
	c.behind(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		// The call has failed already; a server that cannot be told is one
		// more reason why.
		if err := l.Conn.Notify(ctx, jsonrpc.Notification{Method: mcp.MethodCancelled, Params: params}); err != nil {
			c.noteLoss(l, err)
		}
	})
}

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
