// Package guard decides whether a request may be sent, and learns from its outcome.
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

// Settings are the limits of a Gate. Gates that share Settings share the limits that are
// pointers.
type Settings struct {
	// Breaker is the circuit of the server, and Tools are those of its tools, nil for none. With
	// OwnBreaker and OwnTools, the Gate creates them on first use.
	Breaker              *breaker.Breaker
	Tools                *breaker.Group
	OwnBreaker, OwnTools bool
	// MaxInFlight limits the requests in flight; 0 means no limit.
	MaxInFlight int
	// Silence is how long a server with an open request may send nothing; 0 means forever. It
	// needs a circuit.
	Silence time.Duration
	// Rate and Bulkhead make calls wait; nil means no limit.
	Rate     *resilience.Rate
	Bulkhead *resilience.Bulkhead
}

// guarded reports whether the server has a circuit. Without one, the behavior of the server never
// holds requests back.
func (s *Settings) guarded() bool { return s.OwnBreaker || s.Breaker != nil }

// Hooks connect a Gate to the layers above it. Requests that are admitted and answered use no
// hook.
type Hooks struct {
	*core.Core
	// Keeper replaces lost links.
	Keeper *keeper.Holder
	// Ping sends a liveness probe that bypasses all limits.
	Ping func(ctx context.Context, bound time.Duration) outcome.Outcome
	// Signal reports an event, and Ended the end of a request over l. A Gate without a meter uses
	// neither.
	Signal func(Signal)
	Ended  func(r Request, l *link.Link, a resilience.Attempt, j resilience.Judgement)
}

// Request describes a request to admit.
type Request struct {
	// Subject has the number of requests that the call has already sent.
	outcome.Subject
	Purpose link.Purpose
	// Span is the time limit of the call.
	Span core.Span
	// Waited is true if the call has waited since it began.
	Waited bool
}

// patience returns how long to wait for the answer.
func (r *Request) patience() jsonrpc.Wait {
	if r.Attempts > 0 || r.Waited {
		return r.Span.Patience()
	}
	return r.Span.Wait
}

// Gate admits the requests of one client. Call Init before the other methods, which may then be
// called from many goroutines at once.
type Gate struct {
	set      *Settings
	host     Host
	own      core.Lazy[breaker.Breaker] // with OwnBreaker; nil before the first call
	made     core.Lazy[parts]
	inFlight atomic.Int32
	metered  bool
}

// parts is the state of a Gate after its first event.
type parts struct {
	*Hooks
	throttle Throttle
	tools    core.Lazy[breaker.Group]     // with OwnTools; nil before a tool fails
	silence  core.Lazy[watchdog.Watchdog] // nil before the first request that it watches
	streak   streak
	outage   outage
}

// Host creates the hooks of a Gate.
type Host interface{ Hooks() *Hooks }

// Init prepares a Gate. It calls host when it first needs the hooks. If metered is set, signals
// and ends of requests are reported.
func (g *Gate) Init(set *Settings, metered bool, host Host) {
	g.set, g.metered, g.host = set, metered, host
}

func (g *Gate) parts() *parts {
	return g.made.Make(func() *parts {
		now := time.Now()
		return &parts{Hooks: g.host.Hooks(), streak: streak{began: now}, outage: outage{began: now}}
	})
}

// Close stops the watchdog.
func (g *Gate) Close() { g.silence().Close() }

// InFlight returns how many requests are in flight.
func (g *Gate) InFlight() int { return int(g.inFlight.Load()) }

// Admit admits a request, and waits for its turn if necessary. A refused request was not sent;
// its Permit holds nothing, but has what the wait found out.
func (g *Gate) Admit(ctx context.Context, r Request) (p Permit, err error) {
	p.gate, p.Request = g, r
	admitted := false
	defer func() {
		if !admitted { // also when a callback of the application calls runtime.Goexit
			p.Release()
		}
	}()
	err = g.admit(ctx, &p)
	admitted = err == nil
	return p, err
}

// admit checks in a fixed order: a call that would be refused does not wait, a waiting call does
// not hold the probe of a circuit, and time in the queue does not count against the server.
func (g *Gate) admit(ctx context.Context, p *Permit) error {
	if err := g.refusedThrottled(p); err != nil {
		return err
	}
	b := g.circuit(p.Purpose.Opens())
	if b != nil && b.State() == breaker.Open {
		g.silence().Heal() // before the circuit refuses the request
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

// refusedThrottled returns the error of a request that is throttled, nil for none. It is called
// again after a wait: nothing is sent before a throttle ends.
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

// TryAdmit admits a hedged request if there is room at once: one that waits would be too late,
// and would make other calls wait.
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

// about returns the error of a refused request.
func (g *Gate) about(p *Permit, e *mcperrors.Error) error { return g.parts().About(p.Subject, e) }
