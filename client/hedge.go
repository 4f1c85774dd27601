package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Hedge sends a second request beside one that takes longer than nearly all of
// its kind, and takes the first result; the other is cancelled. When neither has
// one, the call fails with the error that rules out least. It shortens the
// longest waits where several servers stand behind one URL, and is of no use
// elsewhere. Only calls that can be run twice are hedged, over HTTP, while the
// circuits are closed and nothing is held. A second request counts against Rate,
// Bulkhead and MaxInFlight as any other but does not wait for them: it is made
// where there is room at once. The zero Hedge is off.
type Hedge struct {
	// Share is which part of all calls may have a second request, such as 0.05;
	// 0 is off.
	Share float64
	// After is how long a request may take before; 0 means as long as 95 % of the
	// last calls of the same method and tool took, once there were 100.
	After time.Duration
}

func (h Hedge) check() error {
	if !(h.Share >= 0) || h.Share > 1 || h.After < 0 || (h.Share == 0 && h.After > 0) {
		return errors.New("resilience: a hedge needs a share of calls above 0 and up to 1, and a time that is not negative")
	}
	return nil
}

// hedgeKey is what latencies are kept by.
func (q *request) hedgeKey() string {
	if q.tool != "" {
		return q.tool
	}
	return q.method
}

// hedge sends the request of an attempt, and perhaps a second one beside it.
func (c *Client) hedge(ctx context.Context, cl *call, req transport.Request) outcome.Outcome {
	if c.res.Hedge.Share == 0 || !cl.link.Traits.Exchanges || cl.purpose.Opens() {
		return c.exchange(ctx, cl, req)
	}
	h := c.parts.get().hedging.get()
	h.Started()
	began := time.Now()
	answer, err := c.hedged(ctx, cl, req, h)
	if err == nil {
		h.Took(cl.hedgeKey(), time.Since(began))
	}
	return c.outcomeOf(cl, answer, err)
}

// hedgeAfter is when a second request is due, false for never.
func (c *Client) hedgeAfter(cl *call, h *run.Hedging) (time.Duration, bool) {
	if c.repeatable(cl, c.policy(cl)) == resilience.Unsafe || cl.hasToken() { // a token is of one request (UTIL-08)
		return 0, false
	}
	return h.Due(cl.hedgeKey(), c.res.Hedge.After)
}

// mayHedge reports whether a second request may go now. What it holds then is in p.
func (c *Client) mayHedge(cl *call, h *run.Hedging, p *permits) bool {
	if b := c.Breaker(); b != nil && (b.State() != breaker.Closed || b.Peek() != nil) {
		return false
	}
	if group := c.toolsThatFailed(); group != nil && cl.tool != "" {
		if b := group.Find(cl.tool); b != nil && b.State() != breaker.Closed {
			return false // the first may be its probe, of which there is one
		}
	}
	if c.throttle().Left() > 0 || c.interrupted() || c.live.Load() != cl.link {
		return false // nothing goes before the handshake of a new session (LC-08)
	}
	if !h.Take(c.res.Hedge.Share) {
		return false
	}
	if !c.roomFor(cl, p) {
		h.Return()
		return false
	}
	return true
}

// roomFor takes what a request needs of the limits, if it is there at once: a second
// request that has to wait comes too late to be of use, and the wait of another call
// must not get longer for it.
func (c *Client) roomFor(cl *call, p *permits) bool {
	p.counted = true
	if n := c.inFlight.Add(1); c.res.MaxInFlight > 0 && n > int64(c.res.MaxInFlight) {
		return false
	}
	lanes := c.cfg.lanes
	if lanes == nil {
		return true
	}
	if lanes.bulkhead != nil {
		if p.slot = lanes.bulkhead.TryEnter(ofProtocol(cl.method)); p.slot == resilience.NoSlot {
			return false
		}
	}
	if lanes.rate == nil || ofProtocol(cl.method) {
		return true
	}
	_, ok := lanes.rate.Reserve(time.Now(), 0)
	return ok
}

func (c *Client) hedged(ctx context.Context, cl *call, req transport.Request, h *run.Hedging) (transport.Answer, error) {
	after, ok := c.hedgeAfter(cl, h)
	if !ok {
		return c.live.Exchange(ctx, cl.link, req)
	}
	// The params of a request must not be kept by a call that returns, so both
	// have ended before this one does.
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, outcomes := cl.link, make(chan hedgeOutcome, 2)
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
	var p permits
	if !c.mayHedge(cl, h, &p) {
		c.release(&p)
		one := <-outcomes
		return one.answer, one.err
	}
	second := c.besides(cl)
	again := req
	again.ID, again.Params = second.id, second.seal()
	if again.Wait.Max > 0 { // the bound is the attempt's
		again.Wait.Max = max(again.Wait.Max-after, 1)
	}
	c.happened(Hedged, cl.subject(), after, "")
	under.Go(func() {
		defer c.release(&p)
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
		if cl.retries == nil {
			cl.retries = &run.Retries{}
		}
		cl.retries.Doubt = true
	}
	if lost.err != nil && cl.cancelable() {
		c.abandon(cl.link, lost.id, outcome.FailureOf(lost.err))
	}
	if lost := second.progress; lost != nil { // of the two tokens one stays
		if won.second {
			lost, cl.progress = cl.progress, lost
		}
		c.progressTable().Remove(lost)
	}
	if cl.id = won.id; !won.good() {
		won.notBefore(max(wish, wishOther))
	} else if won.second {
		c.happened(HedgeWon, cl.subject(), 0, "")
	}
	return won.answer, won.err
}

// besides returns the call as its second request says it: with an id and a progress
// token of its own, in memory of its own, since the first is still under way.
func (c *Client) besides(cl *call) *call {
	second := *cl
	second.id, second.kept = c.cfg.nextID(), true
	if cl.progress != nil {
		second.progress = c.progressTable().Beside(cl.progress)
		second.progress.Sending(second.id)
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
func (c *Client) weigh(cl *call, o hedgeOutcome) (wish time.Duration, harm int) {
	if o.good() {
		return 0, 2
	}
	a := c.outcomeOf(cl, o.answer, o.err).Record
	hold := a.Judge(c.toolLevel()).Hold
	if hold > 0 {
		c.hold(cl.subject(), c.breaker(cl.purpose == link.Handshake), a, hold)
	}
	switch a.Delivery {
	case mcperrors.Unknown:
		harm = 3
	case mcperrors.Answered:
		harm = 2
	case mcperrors.Rejected:
		harm = 1
	case mcperrors.NotSent:
	}
	return max(a.RetryAfter, hold), harm
}
