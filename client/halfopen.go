package client

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A circuit that is half-open lets one request through. It is a harmless one
// with a bound of its own, not the caller's: a call that must not run twice is
// never the canary, and a slow tool does not keep the circuit open
// (resilience.md 3.5).
const (
	// probeTime bounds the probe.
	probeTime = 5 * time.Second
	// probeLease is when a probe that has not reported is given up.
	probeLease = probeTime + time.Second
)

// probes reports the requests that are a probe themselves.
func probes(method string) bool {
	switch method {
	case mcp.MethodPing, mcp.MethodDiscover, mcp.MethodInitialize, mcp.MethodToolsList,
		mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodPromptsList:
		return true
	}
	return false
}

// proveAlive probes for a call that may not be the probe: nil when the call may
// ask the circuit again. The probe goes on when the caller gives up.
func (c *Client) proveAlive(ctx context.Context, cl *call, b *breaker.Breaker, permit breaker.Permit) error {
	started := false
	defer func() {
		if !started { // also when a hook panics
			permit.Release()
		}
	}()
	permit.Lease(probeLease)
	id, with := c.cfg.nextID(), c.live.Load()
	c.happened(Probed, cl.subject(), 0, "")
	verdict, gone := make(chan *mcperrors.Error), make(chan struct{})
	defer close(gone)
	started = c.within(func() {
		err := outcome.ErrorOf(link.GoroutineEnded())
		defer func() {
			select {
			case verdict <- err:
			case <-gone:
			}
		}()
		err = c.probeServer(b, permit, id)
	})
	if !started {
		return c.local(errClosed(), cl.method)
	}
	cl.waited = true
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	select {
	case err := <-verdict:
		if err == nil {
			return nil
		}
		if c.isClosed() {
			return c.about(cl.subject(), errClosed())
		}
		if open := b.Peek(); open != nil {
			return c.refusedOpen(cl, open)
		}
		if err.Kind == mcperrors.KindSessionLost {
			cl.link = with // the one to be renewed
		}
		return c.about(cl.subject(), unproved(err))
	case <-ctx.Done():
		return c.about(cl.subject(), errormap.From(context.Cause(ctx), mcperrors.NotSent))
	}
}

// revive does for a client that is not healthy what the next call would do before
// it is sent: it probes a circuit whose cooldown is over, or opens a lost session
// again, each at its own pace. It never waits. Programs and streams that are
// connected again need nobody who asks.
func (c *Client) revive(b *breaker.Breaker) {
	lost := c.live.Load() // before the state: a session that is opened from here on is not lost
	open := b != nil && !b.Healthy()
	if open {
		if s := b.Snapshot(); s.Mode == breaker.ForcedOpen || s.RetryAfter > 0 || s.ProbeInFlight {
			return // without a refusal, which would count as one of a call
		}
	}
	switch state := c.State(); {
	case c.throttle().Left() > 0:
	case state == StateHeld:
		if k := c.keeper.peek(); k != nil {
			k.Ask(lost) // the handshake is a probe itself
		}
	case state == StateReady && open:
		c.probeBehind(b)
	}
}

// probeBehind probes where no call waits for the outcome.
func (c *Client) probeBehind(b *breaker.Breaker) {
	permit, err := b.Acquire()
	if err != nil {
		return
	}
	if !permit.Probe() || !c.within(func() {
		defer permit.Release() // should a hook panic
		permit.Lease(probeLease)
		c.happened(Probed, subject{method: mcp.MethodPing}, 0, "")
		_ = c.probeServer(b, permit, c.cfg.nextID()) // the circuit has the outcome
	}) {
		permit.Release()
	}
}

// probeServer asks the server for a sign of life and settles the permit: nil for
// any proper answer, an error answer included.
func (c *Client) probeServer(b *breaker.Breaker, permit breaker.Permit, id jsonrpc.ID) *mcperrors.Error {
	defer permit.Release() // should a transport of the application end the goroutine
	out := c.signOfLife(c.life, id, probeTime)
	a := out.Record
	j := a.Judge(false)
	switch {
	case j.OwnDoing, a.Class == resilience.ClassTimeout && !a.OwnTimer: // it is busy: nothing is known of it
		permit.Release()
	case j.Server == breaker.Success:
		permit.Settle(breaker.Tentative) // it proves little about tools
		return nil
	case a.Class == resilience.ClassSessionLost && !b.CountAll():
		// It lives, and has forgotten: the handshake that follows must not find
		// somebody else's probe in its way.
		permit.Settle(breaker.Tentative)
	default:
		if a.Class == resilience.ClassTimeout {
			j.Server = breaker.Failure
			defer c.silence().LookAgain() // once the permit is settled
			if k := c.keeper.peek(); k != nil {
				defer k.Unanswered()
			}
		}
		permit.SettleFor(j.Server, a.Class.String())
		c.leaveQueue(b)
	}
	if j.Hold > 0 {
		c.hold(subject{method: mcp.MethodPing}, b, a, j.Hold)
	}
	return out.Err
}

// signOfLife asks the server for one: ping in the session era, server/discover
// in the stateless one, past all caches and permits.
func (c *Client) signOfLife(ctx context.Context, id jsonrpc.ID, bound time.Duration) outcome.Outcome {
	ctx, cancel := context.WithTimeout(ctx, bound+time.Second) // should a transport not keep to Wait
	defer cancel()
	cl := &call{request: request{method: mcp.MethodPing, purpose: link.Liveness}}
	cl.begin(c.live.Load(), id)
	cl.opts = callOptions{max: bound, timesSet: true}
	if cl.link.Agreed.Era == mcp.EraStateless {
		cl.method = mcp.MethodDiscover
	}
	req := cl.frame()
	req.Wait = jsonrpc.Wait{Max: bound}
	return c.exchange(ctx, cl, req)
}

// unproved is the error of a call that was not made because the probe before it
// was neither good nor bad news: the server refuses whoever asks, say.
func unproved(probe *mcperrors.Error) *mcperrors.Error {
	e := *probe
	e.Delivery = mcperrors.NotSent // of the call
	return &e
}
