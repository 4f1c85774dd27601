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

// A circuit that is half-open lets one request through. It is a ping with a bound of
// its own, not the caller's: a call that must not run twice never tries the circuit
// out, and a slow tool does not keep it open.
const (
	// probeTime bounds the ping.
	probeTime = 5 * time.Second
	// probeLease is when a probe that has not reported is given up.
	probeLease = probeTime + time.Second
)

// ping is the request that a probe of a circuit is about.
var ping = Request{Subject: outcome.Subject{Method: mcp.MethodPing}} //nolint:gochecknoglobals // a constant

// proveAlive pings the server for a request that may not be the probe itself. It
// returns nil when the request may ask the circuit again. The ping has the credentials of
// the caller, and goes on when the caller gives up.
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

// unproved returns the error of a request that was not sent because the ping before it
// was neither good nor bad news, such as a server that refuses everybody.
func unproved(probe *mcperrors.Error) *mcperrors.Error {
	e := *probe
	e.Delivery = mcperrors.NotSent // of the request
	return &e
}

// Revive does for a client that is not healthy what its next call would do before it
// is sent: it probes a circuit whose cooldown is over, or renews a lost session, each
// at its own pace. It never waits. A keeper restarts programs and streams without it.
//
// lost is the link that was live before the state was read: a session that is opened
// after that is not lost.
func (g *Gate) Revive(lost *link.Link, state life.State) {
	b := g.known()
	open := b != nil && !b.Healthy()
	if open {
		if s := b.Snapshot(); s.Mode == breaker.ForcedOpen || s.RetryAfter > 0 || s.ProbeInFlight {
			return // without a refusal, which would count as one of a call
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

// probeInBackground probes a circuit for no call.
func (g *Gate) probeInBackground(b *breaker.Breaker) {
	permit, err := b.Acquire()
	if err != nil {
		return
	}
	if !permit.Probe() || !g.parts().Life.Go(func() {
		defer permit.Release() // should a hook panic
		permit.Lease(probeLease)
		g.Report(Probed, ping.Subject, 0, "")
		_ = g.probe(g.parts().Life.Context(), b, permit) // the circuit has the outcome
	}) {
		permit.Release()
	}
}

// probe pings the server and settles the permit. It returns nil for any proper answer,
// also for one that is an error.
func (g *Gate) probe(ctx context.Context, b *breaker.Breaker, permit breaker.Permit) *mcperrors.Error {
	defer permit.Release() // should a transport of the application end the goroutine
	h := g.parts()
	out := h.Ping(ctx, probeTime)
	a := &out.Record
	j := a.Judge(false)
	switch {
	case j.OwnDoing, a.Class == resilience.ClassTimeout && !a.OwnTimer: // it is busy, which says nothing of it
		permit.Release()
	case j.Server == breaker.Success:
		permit.Settle(breaker.Tentative) // it proves little about tools
		return nil
	case a.Class == resilience.ClassSessionLost && !b.CountAll():
		// It lives, and has forgotten the session: the handshake that follows must not
		// be refused because of another probe.
		permit.Settle(breaker.Tentative)
	default:
		if a.Class == resilience.ClassTimeout {
			j.Server = breaker.Failure
			defer g.silence().LookAgain() // once the permit is settled
			defer h.Keeper.Peek().Unanswered()
		}
		permit.SettleFor(j.Server, a.Reason())
		g.emptyQueue(b)
	}
	if j.Hold > 0 {
		g.throttleFor(&ping, b, a, j.Hold)
	}
	return out.Err
}
