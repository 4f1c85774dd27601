package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// permits is what an attempt holds while it is under way. The zero permits hold
// nothing.
type permits struct {
	server, tool breaker.Permit
	slot         resilience.Slot
	counted      bool           // among those in flight
	sent         time.Time      // zero unless somebody wants to know
	heard        uint64         // what had come from the server by then
	watch        *guard.Silence // nil unless it watches this request
}

func (p *permits) elapsed() time.Duration {
	if p.sent.IsZero() {
		return 0
	}
	return time.Since(p.sent)
}

// release gives back what an attempt still holds. A settled permit stays
// settled.
func (c *Client) release(p *permits) {
	p.watch.Ended()
	if p.counted {
		c.inFlight.Add(-1)
	}
	if p.slot != resilience.NoSlot {
		c.bulkhead().Leave(p.slot)
	}
	p.server.Release() // should a hook panic
	p.tool.Release()
}

// admit lets an attempt through, in the order of resilience.md 3.6: who would be
// refused does not wait, who has waited does not own the probe of a circuit, and
// what is waited for here is no fault of the server's.
func (c *Client) admit(ctx context.Context, cl *call, p *permits) error {
	if err := c.whileHeld(cl); err != nil {
		return err
	}
	b := c.breaker(cl.purpose.Opens())
	if b != nil && b.State() == breaker.Open {
		c.silence().Heal() // before it refuses
	}
	if c.cfg.lanes != nil && !cl.purpose.Opens() {
		if b != nil {
			if err := b.Peek(); err != nil {
				return c.refusedOpen(cl, err)
			}
		}
		if b := c.toolBreaker(cl.tool); b != nil {
			if err := b.Peek(); err != nil {
				return c.refusedTool(cl, err)
			}
		}
		if err := c.queue(ctx, cl, p); err != nil {
			return err
		}
		if err := c.awaitLink(ctx, cl); err != nil { // it was lost while the call waited for its turn
			return err
		}
		if err := c.whileHeld(cl); err != nil { // one before it in the queue was told so
			return err
		}
	}
	p.counted = true
	if n := c.inFlight.Add(1); c.res.MaxInFlight > 0 && n > int64(c.res.MaxInFlight) && !cl.purpose.Opens() {
		c.happened(RefusedFull, cl.subject(), 0, "in flight")
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent,
			"too many calls in flight to this server", nil))
	}
	if b != nil {
		if err := c.enterServer(ctx, cl, b, p); err != nil {
			return err
		}
	}
	if cl.waited {
		if err := c.timedOut(cl, mcperrors.NotSent); err != nil {
			return err
		}
	}
	return c.enterTool(cl, p)
}

// enterServer asks the server's circuit. Who is let in as its probe makes sure first
// that the server is there.
func (c *Client) enterServer(ctx context.Context, cl *call, b *breaker.Breaker, p *permits) error {
	for {
		permit, err := b.Acquire()
		if err != nil {
			return c.refusedOpen(cl, err)
		}
		if !permit.Probe() || probes(cl.method) {
			if permit.Probe() {
				permit.Lease(probeLease)
			}
			p.server = permit
			return nil
		}
		if err := c.proveAlive(ctx, cl, b, permit); err != nil {
			return err
		}
		if err := c.whileHeld(cl); err != nil {
			return err
		}
	}
}

// toolBreaker is the circuit of a call's tool, nil for none: then the tool has not
// failed yet.
func (c *Client) toolBreaker(tool string) *breaker.Breaker {
	if tool == "" {
		return nil
	}
	if group := c.toolsThatFailed(); group != nil {
		return group.Find(tool)
	}
	return nil
}

// enterTool asks the tool's circuit, if it has one.
func (c *Client) enterTool(cl *call, p *permits) error {
	b := c.toolBreaker(cl.tool)
	if b == nil {
		return nil
	}
	permit, err := b.Acquire()
	if err != nil {
		return c.refusedTool(cl, err)
	}
	if permit.Probe() { // only the real call tells whether the tool works
		wait := c.patience(cl)
		if lease := max(wait.Idle, wait.Max); lease > 0 {
			permit.Lease(lease + time.Second)
		}
	}
	p.tool = permit
	return nil
}

// refusedTool is the error of a call that its tool's circuit refuses.
func (c *Client) refusedTool(cl *call, err error) error {
	c.happened(RefusedToolOpen, cl.subject(), 0, "")
	e := errormap.From(err, mcperrors.NotSent)
	e.Message = "Tool temporarily unavailable (circuit of the tool open)"
	return c.about(cl.subject(), e)
}

// refusedOpen is the error of a call that the server's circuit refuses.
func (c *Client) refusedOpen(cl *call, err error) error {
	if c.cfg.meter != nil {
		what := RefusedOpen
		var open *breaker.OpenError
		if errors.As(err, &open) && open.Throttled {
			what = RefusedHeld
		}
		c.happened(what, cl.subject(), 0, "")
	}
	return c.about(cl.subject(), errormap.From(err, mcperrors.NotSent))
}

// hold does what a server's Retry-After asks for: a busy one (503) is left alone
// by all who share its breaker, one that is asked too often (429) by this client.
func (c *Client) hold(s subject, b *breaker.Breaker, a resilience.Attempt, d time.Duration) {
	if a.Status != http.StatusTooManyRequests {
		if b != nil {
			b.Throttle(d, a.Class.String())
			c.happened(HeldServer, s, d, a.Class.String())
		}
		return
	}
	if c.res.Breaker == nil && !c.cfg.ownBreaker {
		return // switched off
	}
	if c.parts.get().throttle.get().Extend(d) {
		c.happened(HeldCredential, s, d, a.Class.String())
	}
}

// whileHeld refuses a call until the hold is over. Whoever has waited asks again:
// nothing goes out before its end.
func (c *Client) whileHeld(cl *call) error {
	t := c.throttle()
	if t == nil || cl.purpose == link.Handshake {
		return nil
	}
	if e := t.Refusal(); e != nil {
		c.happened(RefusedHeld, cl.subject(), e.RetryAfter, "")
		return c.about(cl.subject(), e)
	}
	return nil
}

// throttle returns what a 429 has set, nil before anything was.
func (c *Client) throttle() *guard.Throttle {
	if parts := c.parts.peek(); parts != nil {
		return parts.throttle.peek()
	}
	return nil
}

// silence returns the detector of servers that hang, nil before the first request
// that it watches.
func (c *Client) silence() *guard.Silence {
	if parts := c.parts.peek(); parts != nil {
		return parts.silence.peek()
	}
	return nil
}

// sending notes that a request goes out now.
func (c *Client) sending(cl *call, p *permits) {
	p.sent = cl.began
	if cl.attempts > 1 || p.sent.IsZero() || cl.waited {
		p.sent = time.Now()
	}
	if counter, ok := cl.link.Conn.(transport.Counter); ok {
		p.heard = counter.Received()
		if c.res.Silence > 0 && cl.purpose != link.Handshake && cl.purpose != link.Liveness && (c.cfg.ownBreaker || c.res.Breaker != nil) {
			if p.watch = c.silence(); p.watch == nil {
				p.watch = c.newSilence()
			}
			p.watch.Sent(p.sent)
		}
	}
}

// queueWait is how long a call waits for a place among those in flight, and for
// its turn by the rate limit, at most (resilience.md 3.8).
const queueWait = time.Second

// lanes are the limits that calls wait for; nil when there are none.
type lanes struct {
	bulkhead *resilience.Bulkhead
	rate     *resilience.Rate
}

func (c *Client) bulkhead() *resilience.Bulkhead { return c.cfg.lanes.bulkhead }

// queue waits for the call's turn: first by the rate, then for a place.
func (c *Client) queue(ctx context.Context, cl *call, p *permits) error {
	if l := c.cfg.lanes; l.rate != nil && !ofProtocol(cl.method) {
		wait, ok := l.rate.Reserve(time.Now(), c.mostWait(ctx, cl))
		if !ok {
			c.happened(RefusedRate, cl.subject(), wait, "")
			e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent, "too many calls a second to this server", nil)
			e.RetryAfter = wait
			return c.about(cl.subject(), e)
		}
		if wait > 0 {
			cl.waited = true
			c.happened(Queued, cl.subject(), wait, "rate")
			if !c.sleep(ctx, wait) {
				l.rate.Return()
				return c.about(cl.subject(), endedUnsent(ctx))
			}
		}
	}
	h := c.bulkhead()
	if h == nil {
		return nil
	}
	if p.slot = h.TryEnter(ofProtocol(cl.method)); p.slot != resilience.NoSlot {
		return nil
	}
	cl.waited = true
	began := time.Now()
	place, err := h.Join()
	if err == nil {
		timer := time.NewTimer(c.mostWait(ctx, cl))
		err = place.Wait(ctx, timer.C)
		timer.Stop()
	}
	switch {
	case err == nil:
		p.slot = resilience.Common
		c.happened(Queued, cl.subject(), time.Since(began), "bulkhead")
		return nil
	case errors.Is(err, breaker.ErrOpen), errors.Is(err, resilience.ErrQueueTime):
		if b := c.breaker(false); b != nil { // what else went wrong meanwhile says more
			if open := b.Peek(); open != nil {
				return c.refusedOpen(cl, open)
			}
		}
	}
	switch {
	case errors.Is(err, resilience.ErrFull), errors.Is(err, resilience.ErrQueueTime):
		c.happened(RefusedFull, cl.subject(), time.Since(began), err.Error())
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent, err.Error(), err))
	}
	return c.about(cl.subject(), errormap.From(err, mcperrors.NotSent))
}

// endedUnsent is the error of a call that did not wait until its turn: its context
// has ended, or the client.
func endedUnsent(ctx context.Context) *mcperrors.Error {
	if cause := context.Cause(ctx); cause != nil {
		return errormap.From(cause, mcperrors.NotSent)
	}
	return errClosed()
}

// leaveQueue sends away who waits for a place, once the circuit is open: nobody
// will get one soon (resilience.md 3.6).
func (c *Client) leaveQueue(b *breaker.Breaker) {
	if c.cfg.lanes == nil || b == nil || b.State() != breaker.Open {
		return
	}
	if h := c.bulkhead(); h != nil {
		h.Flush(breaker.ErrOpen)
	}
}

// mostWait is how long a call may wait for its turn.
func (c *Client) mostWait(ctx context.Context, cl *call) time.Duration {
	return max(0, min(queueWait, c.span(cl).Remaining(ctx)))
}

// ofProtocol reports the requests that have a lane of their own: a server whose
// tools are all busy still says that it lives.
func ofProtocol(method string) bool {
	switch method {
	case mcp.MethodPing, mcp.MethodDiscover, mcp.MethodSubscriptionsListen, mcp.MethodTasksCancel:
		return true
	}
	return false
}
