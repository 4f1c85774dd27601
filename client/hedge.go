package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Hedge sends a second request beside one that takes longer than nearly all of
// its kind, and takes what comes first; the other is cancelled. It shortens the
// longest waits where several servers stand behind one URL, and is of no use
// elsewhere (resilience.md 3.7). Only calls that can be run twice are hedged,
// over HTTP, while the circuits are closed and nothing is held. The zero Hedge
// is off.
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

// latency is what hedging knows.
type latency struct {
	took          resilience.Latency
	calls, hedged atomic.Int64
}

const (
	hedgeQuantile = 0.95
	hedgeSamples  = 100
)

// subject is what latencies are kept by.
func (cl *call) subject() string {
	if cl.tool != "" {
		return cl.tool
	}
	return cl.method
}

// exchange makes the request of an attempt, and perhaps a second one.
func (c *Client) exchange(ctx context.Context, cl *call, req transport.Request) (transport.Answer, error) {
	if c.res.Hedge.Share == 0 || !cl.link.traits.Exchanges || cl.handshake || cl.restores {
		return cl.link.conn.Call(ctx, req)
	}
	l := c.parts.get().latency.get()
	l.calls.Add(1)
	began := time.Now()
	answer, err := c.hedged(ctx, cl, req, l)
	if err == nil {
		l.took.Observe(cl.subject(), time.Since(began))
	}
	return answer, err
}

// hedgeAfter is when a second request is due, false for never.
func (c *Client) hedgeAfter(cl *call, l *latency) (time.Duration, bool) {
	if c.repeatable(cl, c.policy(cl)) == resilience.Unsafe || cl.progress != nil {
		return 0, false
	}
	if after := c.res.Hedge.After; after > 0 {
		return after, true
	}
	after, calls := l.took.Quantile(cl.subject(), hedgeQuantile)
	return after, calls >= hedgeSamples
}

// mayHedge reports whether a second request may go now, and counts it then.
func (c *Client) mayHedge(l *latency) bool {
	if b := c.Breaker(); b != nil && (b.State() != breaker.Closed || b.Peek() != nil) {
		return false
	}
	if parts := c.parts.peek(); parts.held.Load() != nil {
		return false
	}
	if n := l.hedged.Add(1); float64(n) > max(1, c.res.Hedge.Share*float64(l.calls.Load())) {
		l.hedged.Add(-1)
		return false
	}
	return true
}

// outcome is what came of one of two requests.
type hedgeOutcome struct {
	answer transport.Answer
	err    error
	second bool
}

func (c *Client) hedged(ctx context.Context, cl *call, req transport.Request, l *latency) (transport.Answer, error) {
	after, ok := c.hedgeAfter(cl, l)
	if !ok {
		return cl.link.conn.Call(ctx, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, outcomes := cl.link.conn, make(chan hedgeOutcome, 2)
	send := func(req transport.Request, second bool) {
		answer, err := conn.Call(ctx, req)
		outcomes <- hedgeOutcome{answer, err, second}
	}
	go send(req, false)
	timer := time.NewTimer(after)
	defer timer.Stop()
	out := 1
	var first hedgeOutcome
	select {
	case first = <-outcomes:
		return first.answer, first.err
	case <-timer.C:
		if c.mayHedge(l) {
			again := req
			again.ID = c.cfg.nextID()
			c.happened(Hedged, cl, after, "")
			go send(again, true)
			out++
		}
	}
	// The params of a request must not be kept by a call that returns, so both
	// have ended before this one does: the loser is cancelled, which is quick.
	first = <-outcomes
	if out == 1 {
		return first.answer, first.err
	}
	if first.err == nil {
		cancel()
		<-outcomes
	} else if other := <-outcomes; other.err == nil {
		first = other
	}
	if first.second {
		c.happened(HedgeWon, cl, 0, "")
	}
	return first.answer, first.err
}
