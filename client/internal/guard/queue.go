package guard

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxQueueWait limits how long a call waits for the bulkhead or the rate limit.
const maxQueueWait = time.Second

// waitInQueue waits for the turn of a request, unless a circuit refuses the request now.
func (g *Gate) waitInQueue(ctx context.Context, b *breaker.Breaker, p *Permit) error {
	if b != nil {
		if err := b.Peek(); err != nil {
			return g.refusedOpen(p, err)
		}
	}
	if b := g.toolCircuit(p.Tool); b != nil {
		if err := b.Peek(); err != nil {
			return g.refusedTool(p, err)
		}
	}
	if err := g.waitForRate(ctx, p); err != nil {
		return err
	}
	if err := g.waitForPlace(ctx, p); err != nil {
		return err
	}
	waited, e := g.parts().Keeper.Peek().Await(ctx, p.Span) // the link was lost meanwhile
	if p.Waited = p.Waited || waited; e != nil {
		return g.about(p, e)
	}
	return g.refusedThrottled(p) // an earlier call in the queue was throttled
}

func (g *Gate) waitForRate(ctx context.Context, p *Permit) error {
	rate := g.set.Rate
	if rate == nil || ofProtocol(p.Method) {
		return nil
	}
	wait, ok := rate.Reserve(time.Now(), p.queueTime(ctx))
	if !ok {
		g.Report(RefusedRate, p.Subject, wait, "")
		e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent, "too many calls per second to this server", nil)
		e.RetryAfter = wait
		return g.about(p, e)
	}
	if wait == 0 {
		return nil
	}
	p.Waited = true
	g.Report(Queued, p.Subject, wait, "rate")
	if err := g.parts().Life.Sleep(ctx, wait); err != nil {
		rate.Return()
		return g.about(p, errormap.From(err, mcperrors.NotSent))
	}
	return nil
}

func (g *Gate) waitForPlace(ctx context.Context, p *Permit) error {
	bulkhead := g.set.Bulkhead
	if bulkhead == nil {
		return nil
	}
	if p.slot = bulkhead.TryEnter(ofProtocol(p.Method)); p.slot != resilience.NoSlot {
		return nil
	}
	p.Waited = true
	began := time.Now()
	place, err := bulkhead.Join()
	if err == nil {
		timer := time.NewTimer(p.queueTime(ctx))
		err = place.Wait(ctx, timer.C)
		timer.Stop()
	}
	switch {
	case err == nil:
		p.slot = resilience.Common
		g.Report(Queued, p.Subject, time.Since(began), "bulkhead")
		return nil
	case errors.Is(err, breaker.ErrOpen), errors.Is(err, resilience.ErrQueueTime):
		if b := g.circuit(false); b != nil { // the reason of the circuit is more useful
			if open := b.Peek(); open != nil {
				return g.refusedOpen(p, open)
			}
		}
	}
	if errors.Is(err, resilience.ErrFull) || errors.Is(err, resilience.ErrQueueTime) {
		return g.refusedFull(p, time.Since(began), err.Error(),
			mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent, err.Error(), err))
	}
	return g.about(p, errormap.From(err, mcperrors.NotSent))
}

// tryQueue takes the turn of a request if it needs no wait.
func (g *Gate) tryQueue(p *Permit) bool {
	if g.set.Bulkhead != nil {
		if p.slot = g.set.Bulkhead.TryEnter(ofProtocol(p.Method)); p.slot == resilience.NoSlot {
			return false
		}
	}
	if g.set.Rate == nil || ofProtocol(p.Method) {
		return true
	}
	_, ok := g.set.Rate.Reserve(time.Now(), 0)
	return ok
}

// emptyQueue refuses the calls in the queue once the circuit is open: no place becomes free soon.
func (g *Gate) emptyQueue(b *breaker.Breaker) {
	if g.set.Bulkhead != nil && b != nil && b.State() == breaker.Open {
		g.set.Bulkhead.Flush(breaker.ErrOpen)
	}
}

// refusedFull returns the error of a request that finds no place.
func (g *Gate) refusedFull(p *Permit, waited time.Duration, reason string, e *mcperrors.Error) error {
	g.Report(RefusedFull, p.Subject, waited, reason)
	return g.about(p, e)
}

// queueTime returns how long a request may wait for its turn.
func (r *Request) queueTime(ctx context.Context) time.Duration {
	return max(0, min(maxQueueWait, r.Span.Remaining(ctx)))
}

// ofProtocol reports whether a request may use the reserved places, so that a server whose tools
// are all busy can still be probed.
func ofProtocol(method string) bool {
	switch method {
	case mcp.MethodPing, mcp.MethodDiscover, mcp.MethodSubscriptionsListen, mcp.MethodTasksCancel:
		return true
	}
	return false
}
