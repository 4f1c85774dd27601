package guard

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// earlyProbes are the times of probes during the cooldown of a server that does not listen. A
// refused connection costs little, and a restarted server is back soon.
var earlyProbes = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} //nolint:gochecknoglobals // a constant

// Breaker returns the circuit of the server, nil for none.
func (g *Gate) Breaker() *breaker.Breaker {
	if !g.set.OwnBreaker {
		return g.set.Breaker
	}
	return g.own.Make(func() *breaker.Breaker {
		h := g.parts()
		return breaker.New(breaker.Settings{
			Name: h.Server, Logger: h.Log,
			EarlyProbe: earlyProbes[:], EarlyFor: []string{resilience.ReasonAbsent},
		})
	})
}

// Tools returns the circuits of the server's tools, nil for none. With OwnTools, the circuits
// exist after the first failure of a tool.
func (g *Gate) Tools() *breaker.Group {
	if !g.set.OwnTools {
		return g.set.Tools
	}
	if parts := g.made.Peek(); parts != nil {
		return parts.tools.Peek()
	}
	return nil
}

// toolGroup is Tools, but creates the circuits. Requires ToolLevel.
func (g *Gate) toolGroup() *breaker.Group {
	if !g.set.OwnTools {
		return g.set.Tools
	}
	h := g.parts()
	return h.tools.Make(func() *breaker.Group {
		return breaker.NewGroup(breaker.GroupSettings{Settings: breaker.Settings{Name: h.Server, Logger: h.Log}})
	})
}

// ToolLevel reports whether tools have circuits.
func (g *Gate) ToolLevel() bool { return g.set.OwnTools || g.set.Tools != nil }

// Healthy reports whether the circuit of the server is closed. It creates no circuit.
func (g *Gate) Healthy() bool {
	b := g.known()
	return b == nil || b.Healthy()
}

// Renewed closes the circuit after a server was restarted or connected again, unless the circuit
// is shared: then it also has failures that other clients saw.
func (g *Gate) Renewed(reason string) {
	if b := g.own.Peek(); b != nil {
		b.Renewed(reason)
	}
}

// known returns the circuit of the server, nil if there is none yet.
func (g *Gate) known() *breaker.Breaker {
	if g.set.OwnBreaker {
		return g.own.Peek()
	}
	return g.set.Breaker
}

// circuit returns the circuit for a request, nil for none. A handshake creates no circuit: the
// error of the connection has the same information.
func (g *Gate) circuit(handshake bool) *breaker.Breaker {
	if !handshake {
		return g.Breaker()
	}
	b := g.known()
	if b != nil && g.parts().Keeper.Peek().Restarting() {
		return nil // a start of a program is a probe with its own schedule
	}
	return b
}

// toolCircuit returns the circuit of a tool. It returns nil if the tool has not failed yet.
func (g *Gate) toolCircuit(tool string) *breaker.Breaker {
	if tool == "" {
		return nil
	}
	if group := g.Tools(); group != nil {
		return group.Find(tool)
	}
	return nil
}

// AcquireProbe returns a permit of the server's circuit for the era probe, which bypasses all
// other limits.
func (g *Gate) AcquireProbe() (breaker.Permit, error) {
	b := g.circuit(true)
	if b == nil {
		return breaker.Permit{}, nil
	}
	return b.Acquire()
}

// AllClosed reports whether all circuits of a request are closed and the server is not throttled.
func (g *Gate) AllClosed(tool string) bool {
	if b := g.Breaker(); b != nil && (b.State() != breaker.Closed || b.Peek() != nil) {
		return false
	}
	if b := g.toolCircuit(tool); b != nil && b.State() != breaker.Closed {
		return false // the call may be the circuit's only probe
	}
	return g.Throttle().Left() == 0
}

// enterServer takes a permit of the server's circuit. When the circuit is half-open, it pings the
// server before it lets a call through, unless pings have proved nothing.
func (g *Gate) enterServer(ctx context.Context, b *breaker.Breaker, p *Permit) error {
	for {
		permit, err := b.Acquire()
		if err != nil {
			return g.refusedOpen(p, err)
		}
		switch {
		case !permit.Probe():
			p.server = permit
			return nil
		case resilience.ProvesOnlyLiveness(p.Method):
			permit.Lease(probeLease)
			p.server = permit
			return nil
		case permit.Doubted(): // pings were answered twice, but the calls after them failed
			p.lease(permit)
			p.server = permit
			return nil
		}
		if err := g.proveAlive(ctx, b, permit, p); err != nil {
			return err
		}
		if err := g.refusedThrottled(p); err != nil {
			return err
		}
	}
}

// enterTool takes a permit of the tool's circuit, if it has one.
func (g *Gate) enterTool(p *Permit) error {
	b := g.toolCircuit(p.Tool)
	if b == nil {
		return nil
	}
	permit, err := b.Acquire()
	if err != nil {
		return g.refusedTool(p, err)
	}
	if permit.Probe() { // only a real call shows whether the tool works
		p.lease(permit)
	}
	p.tool = permit
	return nil
}

// lease limits a probe to the time that its request may take.
func (p *Permit) lease(probe breaker.Permit) {
	wait := p.patience()
	if lease := max(wait.Idle, wait.Max); lease > 0 {
		probe.Lease(lease + time.Second)
	}
}

// refusedOpen returns the error of a request that the server's circuit refuses.
func (g *Gate) refusedOpen(p *Permit, err error) error {
	kind, e := RefusedOpen, errormap.From(err, mcperrors.NotSent)
	var open *breaker.OpenError
	if errors.As(err, &open) && open.Throttled {
		kind = RefusedThrottled
		if open.State == breaker.Closed {
			e.Message = askedForPause
		}
	}
	g.Report(kind, p.Subject, 0, "")
	return g.about(p, e)
}

// refusedTool returns the error of a request that the tool's circuit refuses.
func (g *Gate) refusedTool(p *Permit, err error) error {
	g.Report(RefusedToolOpen, p.Subject, 0, "")
	e := errormap.From(err, mcperrors.NotSent)
	e.Message = "Tool temporarily unavailable (circuit of the tool open)"
	return g.about(p, e)
}

// settleTool settles the permit of a tool's circuit. permit is zero if the tool had no circuit.
func (g *Gate) settleTool(tool string, permit breaker.Permit, v breaker.Verdict, class resilience.Class) {
	if permit == (breaker.Permit{}) && v == breaker.Failure {
		g.toolFailed(tool, class)
		return
	}
	permit.SettleFor(v, class.String())
}

// toolFailed records the failure of a tool without a circuit. Most tools never get one.
func (g *Gate) toolFailed(tool string, class resilience.Class) {
	permit, err := g.toolGroup().Get(tool).Acquire()
	switch {
	case err != nil:
	case permit.Probe():
		permit.Release() // the request is older than the cooldown, so it is not the probe
	default:
		permit.SettleFor(breaker.Failure, class.String())
	}
}
