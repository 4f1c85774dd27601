package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// HedgeSettings configure when a client sends a second request.
type HedgeSettings struct {
	// Share limits the fraction of calls that have a second request; 0 disables hedging.
	Share float64
	// After is the delay of the second request; see [Hedging.Due].
	After time.Duration
}

// Hedging decides when a call gets a second request, and limits how many calls do. Its methods
// may be called from many goroutines at once. The zero value is ready for use.
type Hedging struct {
	took          resilience.Latency
	calls, hedged atomic.Int64
}

const (
	hedgeQuantile = 0.95
	hedgeSamples  = 100
)

// Started counts a call that may have a second request.
func (h *Hedging) Started() { h.calls.Add(1) }

// Took records the duration of a successful call under key.
func (h *Hedging) Took(key string, d time.Duration) { h.took.Observe(key, d) }

// Due returns the delay of the second request: fixed, or if that is 0 the duration of nearly all
// recorded calls. It returns false as long as too few calls are recorded.
func (h *Hedging) Due(key string, fixed time.Duration) (after time.Duration, ok bool) {
	if fixed > 0 {
		return fixed, true
	}
	after, calls := h.took.Quantile(key, hedgeQuantile)
	return after, calls >= hedgeSamples
}

// Take reserves a second request. It returns false if the share of calls is used up.
func (h *Hedging) Take(share float64) bool {
	if n := h.hedged.Add(1); float64(n) > max(1, share*float64(h.calls.Load())) {
		h.Return()
		return false
	}
	return true
}

// Return gives back a reserved second request that was not sent.
func (h *Hedging) Return() { h.hedged.Add(-1) }

// hedge sends the request of an attempt, and possibly a second one.
func (r *Runner) hedge(ctx context.Context, c *Call, req transport.Request) outcome.Outcome {
	h := r.learned.Get().hedging.Get()
	h.Started()
	began := time.Now()
	answer, err := r.hedged(ctx, c, req, h)
	if err == nil {
		h.Took(c.LatencyKey(), time.Since(began))
	}
	c.answered(answer)
	return r.outcomeOf(c, answer, err)
}

// due returns the delay of the second request, false for no second request.
func (r *Runner) due(ctx context.Context, c *Call, h *Hedging) (time.Duration, bool) {
	if r.repeatable(ctx, c) == resilience.Unsafe || c.HasToken() { // a progress token belongs to one request
		return 0, false
	}
	return h.Due(c.LatencyKey(), r.Set.Hedge.After)
}

// admitSecond admits a second request if it can be sent at once.
func (r *Runner) admitSecond(c *Call, h *Hedging) (permit guard.Permit, ok bool) {
	if !r.Guard.AllClosed(c.Tool) || r.Keeper.Peek().Interrupted() || r.Links.Load() != c.Link {
		return permit, false // the handshake of a new session goes first
	}
	if !h.Take(r.Set.Hedge.Share) {
		return permit, false
	}
	if permit, ok = r.Guard.TryAdmit(r.request(c)); !ok {
		h.Return()
	}
	return permit, ok
}

// hedged sends a request, and a second one when it is due. It returns the answer of the request
// that won.
func (r *Runner) hedged(ctx context.Context, c *Call, req transport.Request, h *Hedging) (transport.Answer, error) {
	after, ok := r.due(ctx, c, h)
	if !ok {
		return r.Exchange(ctx, c.Link, req)
	}
	if req.Challenged == nil {
		req.Challenged = &transport.ChallengedCall{} // shared by both
	}
	// A transport must not keep the params of a call that has returned, so this waits for both
	// requests.
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	with, outcomes := c.Link, make(chan hedgeOutcome, 2)
	send := func(req transport.Request, second bool) {
		o := hedgeOutcome{id: req.ID, second: second, err: link.GoroutineEnded()}
		defer func() { outcomes <- o }()
		o.answer, o.err = r.Exchange(ctx, with, req)
	}
	under.Go(func() { send(req, false) })
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case one := <-outcomes:
		return one.answer, one.err
	case <-timer.C:
	}
	permit, ok := r.admitSecond(c, h)
	if !ok {
		one := <-outcomes
		return one.answer, one.err
	}
	second := r.secondOf(c)
	again := req
	again.ID, again.Params = second.ID, second.Seal()
	again.Caller = nil      // the second request asks for credentials itself
	if again.Wait.Max > 0 { // the limit applies to the whole attempt
		again.Wait.Max = max(again.Wait.Max-after, 1)
	}
	r.Guard.Report(guard.Hedged, c.Subject(), after, "")
	under.Go(func() {
		defer permit.Release()
		send(again, true)
	})
	// Only a result cancels the other request: after an error, the other request may still
	// succeed.
	one := <-outcomes
	if one.good() {
		cancel()
	}
	pause, harm := r.weigh(c, one)
	other := <-outcomes
	pauseOther, harmOther := r.weigh(c, other)
	won, lost, mayHaveRun := one, other, harmOther > 1
	if !one.good() && (other.good() || harmOther >= harm) { // of two equal failures, the later one ended the attempt
		won, lost, mayHaveRun = other, one, harm > 1
	}
	if mayHaveRun { // recorded in case the call goes on, with another round, and fails
		if c.Retries == nil {
			c.Retries = &Retries{}
		}
		c.Retries.Doubt = true
	}
	if lost.err != nil && c.Cancelable() {
		r.Abandon(ctx, c, lost.id, outcome.FailureOf(lost.err))
	}
	if lost := second.Progress; lost != nil { // of the two tokens, one stays registered
		if won.second {
			lost, c.Progress = c.Progress, lost
		}
		r.Client.Inbound().Progress().Remove(lost)
	}
	if c.ID = won.id; !won.good() {
		won.notBefore(max(pause, pauseOther))
	} else if won.second {
		r.Guard.Report(guard.HedgeWon, c.Subject(), 0, "")
	}
	return won.answer, won.err
}

// secondOf returns the call for its second request, with its own id, progress token and memory,
// since the first request is still in flight.
func (r *Runner) secondOf(c *Call) *Call {
	second := *c
	second.ID, second.Kept = r.NextID(), true
	if c.Progress != nil {
		second.Progress = r.Client.Inbound().Progress().Beside(c.Progress)
		second.Progress.Sending(second.ID)
	}
	return &second
}

// hedgeOutcome is the outcome of one of the two requests.
type hedgeOutcome struct {
	id     jsonrpc.ID
	second bool
	answer transport.Answer
	err    error
}

// good reports whether the answer is a result, not an error.
func (o *hedgeOutcome) good() bool {
	return o.err == nil && o.answer.Error == nil
}

// notBefore adds the Retry-After of the other outcome.
func (o *hedgeOutcome) notBefore(pause time.Duration) {
	switch {
	case pause == 0:
	case o.err == nil:
		o.answer.RetryAfter = max(o.answer.RetryAfter, pause)
	default:
		f := *outcome.FailureOf(o.err)
		f.RetryAfter = max(f.RetryAfter, pause)
		o.err = &f
	}
}

// weigh obeys the Retry-After of one of two requests at once, whether or not that request wins.
// It returns the requested pause, and how much harm a repetition could do; more is worse.
func (r *Runner) weigh(c *Call, o hedgeOutcome) (pause time.Duration, harm int) {
	if o.good() {
		return 0, 2
	}
	a := r.outcomeOf(c, o.answer, o.err).Record
	throttled := r.Guard.ObeyRetryAfter(r.request(c), a)
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
