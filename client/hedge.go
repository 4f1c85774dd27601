package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Hedge sends a second request beside one that takes longer than nearly all of
// its kind. The first result wins, and the client cancels the other request.
// If both fail, the call returns the error that rules out least about what the
// server did.
//
// Hedging shortens the longest waits where several servers share one URL, and
// helps nowhere else. The client hedges only idempotent calls over HTTP, while
// the circuits are closed and nothing is throttled. A second request counts
// against Rate, Bulkhead and MaxInFlight but never waits for them: it is sent
// only if there is room at once. The zero Hedge is off.
type Hedge struct {
	// Share bounds the fraction of calls that may have a second request, such
	// as 0.05; 0 is off.
	Share float64
	// After is how long the first request may take before the second is sent. 0
	// means the 95th percentile of the last calls of the same method and tool,
	// once there are 100.
	After time.Duration
}

func (h Hedge) check() error {
	if !(h.Share >= 0) || h.Share > 1 || h.After < 0 || (h.Share == 0 && h.After > 0) {
		return errors.New("resilience: a hedge needs a share of calls above 0 and up to 1, and a time that is not negative")
	}
	return nil
}

// hedge sends the request of an attempt, and perhaps a second one beside it.
func (c *Client) hedge(ctx context.Context, cl *run.Call, req transport.Request) outcome.Outcome {
	if c.res.Hedge.Share == 0 || !cl.Link.Traits.Exchanges || cl.Purpose.Opens() {
		return c.exchange(ctx, cl, req)
	}
	h := c.parts.Get().hedging.Get()
	h.Started()
	began := time.Now()
	answer, err := c.hedged(ctx, cl, req, h)
	if err == nil {
		h.Took(cl.LatencyKey(), time.Since(began))
	}
	return c.outcomeOf(cl, answer, err)
}

// hedgeAfter is when a second request is due, false for never.
func (c *Client) hedgeAfter(ctx context.Context, cl *run.Call, h *run.Hedging) (time.Duration, bool) {
	if c.repeatable(ctx, cl, c.policy(cl)) == resilience.Unsafe || cl.HasToken() { // a token is of one request (UTIL-08)
		return 0, false
	}
	return h.Due(cl.LatencyKey(), c.res.Hedge.After)
}

// admitSecond lets a second request out, if it may go now.
func (c *Client) admitSecond(cl *run.Call, h *run.Hedging) (permit guard.Permit, ok bool) {
	if !c.guard.AllClosed(cl.Tool) || c.keeper.Peek().Interrupted() || c.live.Load() != cl.Link {
		return permit, false // nothing goes before the handshake of a new session (LC-08)
	}
	if !h.Take(c.res.Hedge.Share) {
		return permit, false
	}
	if permit, ok = c.guard.TryAdmit(c.guardRequest(cl)); !ok {
		h.Return()
	}
	return permit, ok
}

func (c *Client) hedged(ctx context.Context, cl *run.Call, req transport.Request, h *run.Hedging) (transport.Answer, error) {
	after, ok := c.hedgeAfter(ctx, cl, h)
	if !ok {
		return c.live.Exchange(ctx, cl.Link, req)
	}
	// The params of a request must not be kept by a call that returns, so both
	// have ended before this one does.
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, outcomes := cl.Link, make(chan hedgeOutcome, 2)
	send := func(req transport.Request, second bool) {
		o := hedgeOutcome{id: req.ID, second: second, err: link.GoroutineEnded()}
		defer func() { outcomes <- o }()
		o.answer, o.err = c.live.Exchange(ctx, with, req)
	}
	under.Go(func() { send(req, false) })
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case one := <-outcomes:
		return one.answer, one.err
	case <-timer.C:
	}
	permit, ok := c.admitSecond(cl, h)
	if !ok {
		one := <-outcomes
		return one.answer, one.err
	}
	second := c.besides(cl)
	again := req
	again.ID, again.Params = second.ID, second.Seal()
	if again.Wait.Max > 0 { // the bound is the attempt's
		again.Wait.Max = max(again.Wait.Max-after, 1)
	}
	c.happened(Hedged, cl.Subject(), after, "")
	under.Go(func() {
		defer permit.Release()
		send(again, true)
	})
	// Only a result ends the other, which is quick: an error says nothing of what
	// the other request may yet do.
	one := <-outcomes
	if one.good() {
		cancel()
	}
	wish, harm := c.weigh(cl, one)
	other := <-outcomes
	wishOther, harmOther := c.weigh(cl, other)
	won, lost, mayHaveRun := one, other, harmOther > 1
	if !one.good() && (other.good() || harmOther >= harm) { // on a par, what came last ended the attempt
		won, lost, mayHaveRun = other, one, harm > 1
	}
	if mayHaveRun { // which counts should the call go on, with another round, and fail
		if cl.Retries == nil {
			cl.Retries = &run.Retries{}
		}
		cl.Retries.Doubt = true
	}
	if lost.err != nil && cl.Cancelable() {
		c.abandon(cl.Link, lost.id, outcome.FailureOf(lost.err))
	}
	if lost := second.Progress; lost != nil { // of the two tokens one stays
		if won.second {
			lost, cl.Progress = cl.Progress, lost
		}
		c.inbound().Progress().Remove(lost)
	}
	if cl.ID = won.id; !won.good() {
		won.notBefore(max(wish, wishOther))
	} else if won.second {
		c.happened(HedgeWon, cl.Subject(), 0, "")
	}
	return won.answer, won.err
}

// besides returns the call as its second request says it: with an id and a progress
// token of its own, in memory of its own, since the first is still under way.
func (c *Client) besides(cl *run.Call) *run.Call {
	second := *cl
	second.ID, second.Kept = c.cfg.nextID(), true
	if cl.Progress != nil {
		second.Progress = c.inbound().Progress().Beside(cl.Progress)
		second.Progress.Sending(second.ID)
	}
	return &second
}

// hedgeOutcome is what came of one of two requests.
type hedgeOutcome struct {
	id     jsonrpc.ID
	second bool
	answer transport.Answer
	err    error
}

// good reports a result. An answer that is an error is none.
func (o *hedgeOutcome) good() bool {
	return o.err == nil && o.answer.Error == nil
}

// notBefore adds the wish that came with the other outcome.
func (o *hedgeOutcome) notBefore(wish time.Duration) {
	switch {
	case wish == 0:
	case o.err == nil:
		o.answer.RetryAfter = max(o.answer.RetryAfter, wish)
	default:
		f := *outcome.FailureOf(o.err)
		f.RetryAfter = max(f.RetryAfter, wish)
		o.err = &f
	}
}

// weigh does what the server asked for by one of two requests that is no result,
// at once and whatever becomes of the other: it returns how long the server wants
// to be left alone, and how much harm a repetition might do, more for more.
func (c *Client) weigh(cl *run.Call, o hedgeOutcome) (wish time.Duration, harm int) {
	if o.good() {
		return 0, 2
	}
	a := c.outcomeOf(cl, o.answer, o.err).Record
	throttled := c.guard.ObeyRetryAfter(c.guardRequest(cl), a)
	switch a.Delivery {
	case mcperrors.Unknown:
		harm = 3
	case mcperrors.Answered:
		harm = 2
	case mcperrors.Rejected:
		harm = 1
	case mcperrors.NotSent:
	}
	return max(a.RetryAfter, throttled), harm
}
