package client

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Every attempt leaves one record; verdicts, holds, the retry and what the meter
// is told are functions of it (resilience.md 3.1).

// exchange sends one request over the link of its call and returns what came of
// it. Every request of the client goes through here, but for the handshake's
// notifications.
func (c *Client) exchange(ctx context.Context, cl *call, req transport.Request) outcome.Outcome {
	answer, err := c.live.Exchange(ctx, cl.link, req)
	return c.outcomeOf(cl, answer, err)
}

// outcomeOf makes the outcome of an attempt from what its transport returned.
func (c *Client) outcomeOf(cl *call, answer transport.Answer, err error) outcome.Outcome {
	sent := c.sent(cl)
	if answer.Error != nil { // a result has no need of it, and it costs an allocation
		sent.Declared = c.cfg.offer.Capabilities
	}
	out := outcome.Of(&sent, answer, err)
	if out.Err == nil {
		return out
	}
	s, r := cl.subject(), &out.Record
	if out.Failure == nil {
		c.doubtTool(s, out.Err)
	} else {
		if r.Reused && cl.retries != nil {
			r.Repeated = cl.retries.Last.Reused
		}
		r.Repeated = cl.crashes.Note(cl.link, out.Failure) || r.Repeated
		if r.Class == resilience.ClassTimeout {
			// Neither the impatience of one caller nor a call that is served before this
			// one must close the server to all.
			r.OwnTimer = (cl.purpose == link.Liveness || !cl.opts.timesSet || !c.shorter(cl.opts)) && !c.silence().Busy(cl.link)
		}
	}
	out.Err = c.about(s, out.Err)
	return out
}

// shorter reports whether a call's own times are shorter than the client's.
func (c *Client) shorter(o callOptions) bool {
	less := func(own, general int64) bool { return own > 0 && (general == 0 || own < general) }
	return less(int64(o.idle), int64(c.res.IdleTimeout)) || less(int64(o.max), int64(c.res.MaxTime))
}

// settled is what follows from an attempt that has ended.
func (c *Client) settled(cl *call, p *permits, out *outcome.Outcome) {
	if out.Err == nil {
		c.attemptDone(cl, p, out.Record)
		return
	}
	known := out.Failure != nil && c.countedEnd(cl.link, out.Failure)
	c.attemptFailed(cl, p, out.Record, known)
	if f := out.Failure; f != nil && cl.cancelable() {
		c.abandon(cl.link, cl.id, f)
	}
}

// attemptFailed is what follows from an attempt that failed: the verdicts, the holds,
// the record for the retry and for the meter. known says that the server's
// circuit was told of the cause by another call.
func (c *Client) attemptFailed(cl *call, p *permits, a resilience.Attempt, known bool) {
	a.Elapsed = p.elapsed()
	a.Probe = p.server.Probe() || p.tool.Probe()
	if a.Class == resilience.ClassTimeout {
		a.Alive = heardSince(cl.link, p.heard)
	}
	a.Repeated = a.Repeated || c.happenedAgain(cl, a)
	if a.Class != resilience.ClassTimeout && a.Class != resilience.ClassCanceled {
		p.watch.Heard() // what fails is not silent
	}
	if cl.retries == nil {
		cl.retries = &run.Retries{}
	}
	cl.retries.Failed(a)
	j := a.Judge(c.toolLevel())
	if known {
		j.Server = breaker.Neutral
	}
	c.settle(cl, p, a, j)
	c.metered(cl, a, j)
}

// attemptDone is what follows from one that was answered with a result.
func (c *Client) attemptDone(cl *call, p *permits, a resilience.Attempt) {
	p.watch.Heal()
	if a.Class == resilience.ClassBrokenResult {
		a.Elapsed = p.elapsed()
		j := a.Judge(c.toolLevel())
		c.settle(cl, p, a, j)
		c.metered(cl, a, j)
		return
	}
	if cl.attempts == 1 {
		c.budgets().Success()
	}
	c.readable(resilience.Attempt{Class: resilience.ClassComplete})
	if p.slot == resilience.Common {
		c.bulkhead().Grow()
	}
	if p.tool == (breaker.Permit{}) && !p.server.Probe() && c.cfg.meter == nil {
		p.server.Settle(breaker.Success) // isError too: the server works
		return
	}
	a.Elapsed = p.elapsed()
	a.Probe = p.server.Probe() // which a tool's call never holds
	j := a.Judge(c.toolLevel())
	p.server.Settle(j.Server)
	p.tool.Settle(j.Tool)
	c.metered(cl, a, j)
}

// metered tells the meter of an attempt.
func (c *Client) metered(cl *call, a resilience.Attempt, j resilience.Judgement) {
	if c.cfg.meter == nil {
		return
	}
	c.cfg.meter.AttemptEnded(AttemptRecord{
		Server: c.server, Method: cl.method, Tool: cl.tool, Version: cl.link.Agreed.Version, Number: cl.attempts,
		Class: a.Class.String(), Delivery: a.Delivery, OnServer: j.Server, OnTool: j.Tool,
		Status: a.Status, RPCCode: a.Code, Elapsed: a.Elapsed,
	})
}

// settle tells the breakers how a failed attempt went. With CountAll every error
// counts, the seed's literal rule, but for what says nothing about a server: the
// caller gave up, or the client was closed.
func (c *Client) settle(cl *call, p *permits, a resilience.Attempt, j resilience.Judgement) {
	if j.OwnDoing {
		p.server.Release()
		p.tool.Release()
		return
	}
	b := c.breaker(cl.purpose == link.Handshake)
	if b != nil && b.CountAll() {
		j.Server = breaker.Failure
	}
	p.server.SettleFor(j.Server, a.Class.String())
	c.leaveQueue(b)
	if p.tool == (breaker.Permit{}) && j.Tool == breaker.Failure {
		c.toolFailed(cl.tool, a.Class)
	} else {
		p.tool.SettleFor(j.Tool, a.Class.String())
	}
	if j.Hold > 0 {
		c.hold(cl.subject(), b, a, j.Hold)
	}
	if p.slot == resilience.Common && (a.Class == resilience.ClassThrottled || a.Class == resilience.ClassBusy || a.Class == resilience.ClassTimeout) {
		c.bulkhead().Drop(time.Now(), a.Elapsed)
	}
}

// toolFailed notes the failure of a tool that has no circuit yet: most never
// get one.
func (c *Client) toolFailed(tool string, class resilience.Class) {
	p, err := c.toolGroup().Get(tool).Acquire()
	switch {
	case err != nil:
	case p.Probe():
		p.Release() // the call is older than the circuit's cooldown: it is not its probe
	default:
		p.SettleFor(breaker.Failure, class.String())
	}
}
