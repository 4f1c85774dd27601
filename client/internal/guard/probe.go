package guard

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A half-open circuit lets one request through. It is a ping with a limit of its own instead of
// the caller's request: so the probe never runs a call that must not run twice, and a slow tool
// does not keep the circuit open.
const (
	// probeTime bounds the ping.
	probeTime = 5 * time.Second
	// probeLease is the time after which an unsettled probe is abandoned.
	probeLease = probeTime + time.Second
)

// ping is the request of a circuit's probe.
var ping = Request{Subject: outcome.Subject{Method: mcp.MethodPing}} //nolint:gochecknoglobals // a constant

// proveAlive pings the server for a request that cannot be the probe itself. It returns nil when
// the request may ask the circuit again. The ping has the credentials of the caller, and
// continues if the caller gives up.
func (g *Gate) proveAlive(ctx context.Context, b *breaker.Breaker, permit breaker.Permit, p *Permit) error {
	started := false
	defer func() {
		if !started { // also when a hook panics
			permit.Release()
		}
	}()
	permit.Lease(probeLease)
	h := g.parts()
	used := h.Links.Load()
	g.Report(Probed, p.Subject, 0, "")
	verdict, left := make(chan *mcperrors.Error), make(chan struct{})
	defer close(left)
	own, end := h.Life.With(ctx)
	started = h.Life.Go(func() {
		defer end()
		err := outcome.ErrorOf(link.GoroutineEnded())
		defer func() {
			select {
			case verdict <- err:
			case <-left:
			}
		}()
		err = g.probe(own, b, permit)
	})
	if !started {
		end()
		return g.about(p, life.ErrClosed())
	}
	p.Waited = true
	ctx, cancel := p.Span.Bound(ctx)
	defer cancel()
	select {
	case err := <-verdict:
		if err == nil {
			return nil
		}
		if closed := h.Life.Refusal(); closed != nil {
			return g.about(p, closed)
		}
		if open := b.Peek(); open != nil {
			return g.refusedOpen(p, open)
		}
		if err.Kind == mcperrors.KindSessionLost {
			p.Lost = used
		}
		return g.about(p, unproved(err))
	case <-ctx.Done():
		return g.about(p, errormap.From(context.Cause(ctx), mcperrors.NotSent))
	}
}

// unproved returns the error of a request that was not sent because the ping before it neither
// succeeded nor failed; for example, the server refuses all requests.
func unproved(probe *mcperrors.Error) *mcperrors.Error {
	e := *probe
	e.Delivery = mcperrors.NotSent // delivery of the request, not of the ping
	return &e
}

// Revive does for an unhealthy client what its next call would do first: it probes a circuit
// whose cooldown is over, or renews a lost session, each at its own pace. It never waits. A
// keeper restarts programs and streams on its own.
//
// lost is the link that was live before the state was read. A session that is opened later is not
// lost.
func (g *Gate) Revive(lost *link.Link, state life.State) {
	b := g.known()
	open := b != nil && !b.Healthy()
	if open {
		if s := b.Snapshot(); s.Mode == breaker.ForcedOpen || s.RetryAfter > 0 || s.ProbeInFlight {
			return // not Acquire, which would count a refused call
		}
	}
	switch {
	case g.Throttle().Left() > 0:
	case state == life.Backoff:
		g.parts().Keeper.Peek().Ask(lost) // the handshake is a probe itself
	case state == life.Ready && open:
		g.probeInBackground(b)
	}
}

// probeInBackground probes a circuit without a call.
func (g *Gate) probeInBackground(b *breaker.Breaker) {
	permit, err := b.Acquire()
	if err != nil {
		return
	}
	if !permit.Probe() || !g.parts().Life.Go(func() {
		defer permit.Release() // in case a hook panics
		permit.Lease(probeLease)
		g.Report(Probed, ping.Subject, 0, "")
		_ = g.probe(g.parts().Life.Context(), b, permit) // the circuit has the outcome
	}) {
		permit.Release()
	}
}

// probe pings the server and settles the permit. It returns nil for any valid answer, even an
// error.
func (g *Gate) probe(ctx context.Context, b *breaker.Breaker, permit breaker.Permit) *mcperrors.Error {
	defer permit.Release() // in case the application's transport calls runtime.Goexit
	h := g.parts()
	out := h.Ping(ctx, probeTime)
	a := &out.Record
	j := a.Judge(false)
	switch {
	case j.OwnDoing, a.Class == resilience.ClassTimeout && !a.OwnTimer: // the server is busy, which does not mean that it has failed
		permit.Release()
	case j.Server == breaker.Success:
		permit.Settle(breaker.Tentative) // a ping proves little about tools
		return nil
	case a.Class == resilience.ClassSessionLost && !b.CountAll():
		// The server works, but has lost the session. The next handshake must not be refused
		// because another probe is open.
		permit.Settle(breaker.Tentative)
	default:
		if a.Class == resilience.ClassTimeout {
			j.Server = breaker.Failure
			defer g.silence().LookAgain() // after the permit is settled
			defer h.Keeper.Peek().Unanswered()
		}
		permit.SettleFor(j.Server, a.Reason())
		g.emptyQueue(b)
	}
	if j.Throttle > 0 {
		g.throttleFor(&ping, b, a, j.Throttle)
	}
	return out.Err
}
