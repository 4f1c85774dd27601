// Package guard decides whether a request may go out, and learns from its outcome.
//
// A [Gate] admits each request and hands out a [Permit]. The holder sends the
// request, settles the permit with the outcome, and releases it:
//
//	permit, err := gate.Admit(ctx, request)
//	if err != nil {
//		return err // nothing was sent
//	}
//	defer permit.Release()
//	permit.Sending(link)
//	out := link.Exchange(…)
//	permit.Settle(&out)
package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/watchdog"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Settings are the limits of a Gate. Gates may share them; limits that are
// pointers are then shared, too.
type Settings struct {
	// Breaker is the circuit of the server, and Tools are those of its tools, nil for
	// none. OwnBreaker and OwnTools say that the Gate makes them when it needs them.
	Breaker              *breaker.Breaker
	Tools                *breaker.Group
	OwnBreaker, OwnTools bool
	// MaxInFlight is how many requests may be in flight; 0 means no limit.
	MaxInFlight int
	// Silence is how long nothing may come from a server that has a request to
	// answer; 0 means forever. It needs a circuit.
	Silence time.Duration
	// Rate and Bulkhead make calls wait; nil for none.
	Rate     *resilience.Rate
	Bulkhead *resilience.Bulkhead
}

// guarded reports whether the server has a circuit. Without one nothing that the
// server does keeps requests back.
func (s *Settings) guarded() bool { return s.OwnBreaker || s.Breaker != nil }

// Hooks are what a Gate needs of the layers above it. Requests that are admitted
// and answered use none of them.
type Hooks struct {
	*core.Core
	// Keeper has what replaces lost links.
	Keeper *keeper.Holder
	// Ping asks the server for an answer, past all limits.
	Ping func(ctx context.Context, bound time.Duration) outcome.Outcome
	// Signal reports an event, and Ended the end of a request over l. A Gate without
	// a meter uses neither.
	Signal func(Signal)
	Ended  func(r Request, l *link.Link, a resilience.Attempt, j resilience.Judgement)
}

// Request describes a request that asks to go out.
type Request struct {
	// Subject counts the requests of the call that were sent before.
	outcome.Subject
	Purpose link.Purpose
	// Span is the time of the call.
	Span core.Span
	// Waited says that the call has waited for something since it began.
	Waited bool
}

// patience returns how long the answer is waited for.
func (r *Request) patience() jsonrpc.Wait {
	if r.Attempts > 0 || r.Waited {
		return r.Span.Patience()
	}
	return r.Span.Wait
}

// Gate admits the requests of one client. Call Init before its other methods, which
// may then be called from many goroutines at once.
type Gate struct {
	set      *Settings
	host     Host
	own      core.Lazy[breaker.Breaker] // with OwnBreaker; nil before the first call
	made     core.Lazy[parts]
	inFlight atomic.Int32
	metered  bool
}

// parts are what a Gate has once it has something to learn from.
type parts struct {
	*Hooks
	throttle Throttle
	tools    core.Lazy[breaker.Group]     // with OwnTools; nil before a tool has failed
	silence  core.Lazy[watchdog.Watchdog] // nil before the first request that it watches
	streak   streak
	outage   outage
}

// Host makes the hooks of a Gate.
type Host interface{ Hooks() *Hooks }

// Init makes a Gate ready. It calls host when it first needs hooks. metered says that
// signals and ends of requests are reported.
func (g *Gate) Init(set *Settings, metered bool, host Host) {
	g.set, g.metered, g.host = set, metered, host
}

func (g *Gate) parts() *parts {
	return g.made.Make(func() *parts {
		now := time.Now()
		return &parts{Hooks: g.host.Hooks(), streak: streak{began: now}, outage: outage{began: now}}
	})
}

// Close ends the watch over the server for good.
func (g *Gate) Close() { g.silence().Close() }

// InFlight returns how many requests are in flight.
func (g *Gate) InFlight() int { return int(g.inFlight.Load()) }

// Admit lets a request out, and waits for its turn where it has to. A request that is
// refused was not sent; its Permit holds nothing, but says what the wait has shown.
func (g *Gate) Admit(ctx context.Context, r Request) (p Permit, err error) {
	p.gate, p.Request = g, r
	admitted := false
	defer func() {
		if !admitted { // also when a function of the application ends the goroutine
			p.Release()
		}
	}()
	err = g.admit(ctx, &p)
	admitted = err == nil
	return p, err
}

// admit checks in a fixed order: a call that would be refused does not
// wait, a call that waits does not hold the probe of a circuit, and the time it waits
// here does not count against the server.
func (g *Gate) admit(ctx context.Context, p *Permit) error {
	if err := g.refusedThrottled(p); err != nil {
		return err
	}
	b := g.circuit(p.Purpose.Opens())
	if b != nil && b.State() == breaker.Open {
		g.silence().Heal() // before it refuses
	}
	if (g.set.Rate != nil || g.set.Bulkhead != nil) && !p.Purpose.Opens() {
		if err := g.waitInQueue(ctx, b, p); err != nil {
			return err
		}
	}
	p.counted = true
	if n := int(g.inFlight.Add(1)); g.set.MaxInFlight > 0 && n > g.set.MaxInFlight && !p.Purpose.Opens() {
		return g.refusedFull(p, 0, "in flight", mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindOverloaded, mcperrors.NotSent,
			"too many calls in flight to this server", nil))
	}
	if b != nil {
		if err := g.enterServer(ctx, b, p); err != nil {
			return err
		}
	}
	if p.Waited && p.Span.Over() {
		return g.about(p, errormap.Timeout(mcperrors.NotSent, "the call did not end", p.Span.Wait.Max, nil))
	}
	return g.enterTool(p)
}

// refusedThrottled returns the error of a request that is throttled, nil for none. A
// request that has waited asks again: nothing is sent before the end of a throttle.
func (g *Gate) refusedThrottled(p *Permit) error {
	if p.parts == nil || p.Waited {
		p.parts = g.made.Peek()
	}
	if p.parts == nil || p.parts.throttle.until.Load() == nil || p.Purpose == link.Handshake {
		return nil
	}
	e := p.parts.throttle.Refusal()
	if e == nil {
		return nil
	}
	g.Report(RefusedThrottled, p.Subject, e.RetryAfter, "")
	return g.about(p, e)
}

// TryAdmit lets a second request out beside one that takes long, if there is room at
// once: one that has to wait comes too late, and must not make other calls wait.
func (g *Gate) TryAdmit(r Request) (p Permit, ok bool) {
	p.gate, p.Request = g, r
	p.counted = true
	n := int(g.inFlight.Add(1))
	ok = (g.set.MaxInFlight == 0 || n <= g.set.MaxInFlight) && g.tryQueue(&p)
	if !ok {
		p.Release()
	}
	return p, ok
}

// about returns the error of a request that was refused.
func (g *Gate) about(p *Permit, e *mcperrors.Error) error { return g.parts().About(p.Subject, e) }
