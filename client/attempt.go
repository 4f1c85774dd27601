package client

import (
	"encoding/json"
	"errors"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Every attempt leaves one record; verdicts, holds, the retry and what the meter
// is told are functions of it (resilience.md 3.1).

// unanswered is the record of an attempt without an answer, e the error it
// became.
func (c *Client) unanswered(cl *call, f *transport.Failure, e *mcperrors.Error) resilience.Attempt {
	a := resilience.Attempt{
		Method: cl.method, Class: classOf(f), Delivery: e.Delivery, Kind: e.Kind,
		RetryAfter: f.RetryAfter, Final: !e.Retryable,
	}
	if a.Reused = f.Reused && f.Reason == transport.ReasonLost; a.Reused && cl.retry != nil {
		a.Repeated = cl.retry.last.Reused
	}
	a.Repeated = a.Repeated || c.crashed(cl, e)
	if f.HTTP != nil {
		a.Status = f.HTTP.Status
	}
	if a.Class == resilience.ClassTimeout {
		// Neither the impatience of one caller nor a call that is served before this
		// one must close the server to all.
		a.OwnTimer = (cl.purpose == link.Liveness || !cl.opts.timesSet || !c.shorter(cl.opts)) && !c.busy(cl.link)
	}
	return a
}

// classOf classes an attempt without an answer.
func classOf(f *transport.Failure) resilience.Class {
	switch f.Reason {
	case transport.ReasonCanceled:
		return resilience.ClassCanceled
	case transport.ReasonTimeout:
		return resilience.ClassTimeout
	case transport.ReasonUnavailable:
		for _, ours := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL} {
			if errors.Is(f.Err, ours) { // A8: what is used up is on this side
				return resilience.ClassExhausted
			}
		}
		return resilience.ClassUnavailable
	case transport.ReasonLost:
		if f.Process != nil && f.Process.Exited {
			return resilience.ClassExited
		}
		return resilience.ClassLost
	case transport.ReasonClosed, transport.ReasonCallback:
		return resilience.ClassLocal
	case transport.ReasonStatus:
		return resilience.OfStatus(f.HTTP.Status)
	case transport.ReasonSession:
		return resilience.ClassSessionLost
	case transport.ReasonProtocol:
		return resilience.ClassBrokenResult
	case transport.ReasonTooLarge, transport.ReasonNoRoom:
		return resilience.ClassTooLarge
	case transport.ReasonConfig:
		if f.HTTP == nil { // a certificate, not a redirect
			return resilience.ClassCertificate
		}
		return resilience.ClassRefused
	case transport.ReasonUnprocessed:
		return resilience.ClassUnprocessed
	case transport.ReasonNotMCP:
		return resilience.ClassNotMCP
	case transport.ReasonOption:
		return resilience.ClassRefused
	}
	return resilience.ClassNone
}

// shorter reports whether a call's own times are shorter than the client's.
func (c *Client) shorter(o callOptions) bool {
	less := func(own, general int64) bool { return own > 0 && (general == 0 || own < general) }
	return less(int64(o.idle), int64(c.res.IdleTimeout)) || less(int64(o.max), int64(c.res.MaxTime))
}

// refused is the record of an attempt that was answered with an error.
func refused(cl *call, answer transport.Answer, e *mcperrors.Error) resilience.Attempt {
	a := resilience.FromError(cl.method, e)
	a.RetryAfter = max(a.RetryAfter, answer.RetryAfter)
	return a
}

// fulfilled is the record of an attempt that was answered with a result.
func fulfilled(cl *call, result json.RawMessage) resilience.Attempt {
	a := resilience.Attempt{Method: cl.method, Class: resilience.ClassComplete, Delivery: mcperrors.Answered, Alive: true}
	if cl.link.Agreed.Era != mcp.EraStateless {
		return a
	}
	cl.kind, cl.typed = mcp.PeekResultType(result)
	switch {
	case !cl.typed, cl.kind == mcp.ResultComplete:
	case cl.kind == mcp.ResultInputRequired:
		a.Class = resilience.ClassInputRequired
	case cl.kind == mcp.ResultTask:
		a.Class = resilience.ClassTask
	default:
		a.Class = resilience.ClassBrokenResult
	}
	return a
}

// attemptFailed is what follows from an attempt that failed: the verdicts, the holds,
// the record for the retry and for the meter. known says that the server's
// circuit was told of the cause by another call.
func (c *Client) attemptFailed(cl *call, p *permits, a resilience.Attempt, known bool) {
	a.Elapsed = p.elapsed()
	a.Probe = p.server.Probe() || p.tool.Probe()
	if a.Class == resilience.ClassTimeout {
		a.Alive = c.heardSince(cl.link, p.heard)
	}
	a.Repeated = a.Repeated || c.happenedAgain(cl, a)
	if p.watch != nil && a.Class != resilience.ClassTimeout && a.Class != resilience.ClassCanceled {
		p.watch.core.Heard(p.watch.now()) // what fails is not silent
		p.watch.heal(c)
	}
	if cl.retry == nil {
		cl.retry = &retrying{}
	}
	cl.retry.last, cl.retry.failed = a, true
	if a.Delivery == mcperrors.Unknown || a.Delivery == mcperrors.Answered {
		// An error that is an answer may have come half-way.
		cl.retry.doubt = true
	}
	j := a.Judge(c.toolLevel())
	if known {
		j.Server = breaker.Neutral
	}
	c.settle(cl, p, a, j)
	c.metered(cl, a, j)
}

// attemptDone is what follows from one that was answered with a result.
func (c *Client) attemptDone(cl *call, p *permits, result json.RawMessage) {
	if p.watch != nil {
		p.watch.heal(c)
	}
	if cl.retry != nil {
		cl.retry.failed = false
	}
	a := fulfilled(cl, result)
	if a.Class == resilience.ClassBrokenResult {
		a.Elapsed = p.elapsed()
		j := a.Judge(c.toolLevel())
		c.settle(cl, p, a, j)
		c.metered(cl, a, j)
		return
	}
	if b := c.budgets(); b != nil && cl.attempts == 1 {
		b.retries.Success()
		b.locked.Success()
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

// verdict is a breaker's, or ownDoing.
type verdict = breaker.Verdict

// ownDoing is the verdict on what this side did: it never counts.
const ownDoing verdict = 255

// serverVerdict is what a record says of the server where there is no tool.
func serverVerdict(a resilience.Attempt) verdict {
	j := a.Judge(false)
	if j.OwnDoing {
		return ownDoing
	}
	return j.Server
}

// settlePermit settles the permit of what is no call: a probe of the era, a sign
// of life.
func (c *Client) settlePermit(permit breaker.Permit, v verdict, failed bool) {
	b := c.res.Breaker
	switch {
	case v == ownDoing:
		permit.Release()
	case failed && b != nil && b.CountAll():
		permit.Settle(breaker.Failure)
	default:
		permit.Settle(v)
	}
}
