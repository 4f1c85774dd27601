package guard

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/watchdog"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Permit is what a request holds while it is in flight. The zero Permit holds nothing. One
// goroutine at a time may use it.
type Permit struct {
	// Request is the admitted request; Waited is true if it had to wait.
	Request
	// Lost is the link whose session a ping found lost, nil for none. The request was refused
	// then; admit it again once there is another link.
	Lost *link.Link

	gate         *Gate
	parts        *parts // of gate, nil while it had none
	server, tool breaker.Permit
	owed         *Owed // nil if each failure counts at once
	slot         resilience.Slot
	counted      bool       // in Gate.inFlight
	link         *link.Link // set by Sending
	sent         time.Time
	heard        uint64             // bytes received over link at that time
	watch        *watchdog.Watchdog // nil unless it watches this request
}

// Sending records that the request is now sent over l.
func (p *Permit) Sending(l *link.Link) {
	p.link, p.sent = l, p.Span.Began
	if p.Attempts > 0 || p.sent.IsZero() || p.Waited {
		p.sent = time.Now()
	}
	counter, ok := l.Conn.(link.Counter)
	if !ok {
		return
	}
	p.heard = counter.Received()
	if g := p.gate; g.set.Silence > 0 && p.Purpose != link.Handshake && p.Purpose != link.Liveness {
		if p.parts == nil {
			p.parts = g.parts()
		}
		if p.watch = p.parts.silence.Peek(); p.watch == nil {
			p.watch = g.newSilence()
		}
		p.watch.Sent(p.sent)
	}
}

// Release releases what the request still holds. It does nothing the second time, and does not
// change what Settle has settled.
func (p *Permit) Release() {
	p.watch.Ended()
	p.watch = nil
	if p.counted {
		p.counted = false
		p.gate.inFlight.Add(-1)
	}
	if p.slot != resilience.NoSlot {
		p.gate.set.Bulkhead.Release(p.slot)
		p.slot = resilience.NoSlot
	}
	p.server.Release() // in case a hook panicked
	p.tool.Release()
}

// SettleLater is Settle for a request that the call may send again. A failure that counts stays
// in owed until the call has ended.
func (p *Permit) SettleLater(out *outcome.Outcome, owed *Owed) {
	p.owed = owed
	p.Settle(out)
}

// Settle reports the outcome of the request to circuits, throttles and limits, and completes its
// record. Call it at most once, after Sending, directly or with SettleLater.
func (p *Permit) Settle(out *outcome.Outcome) {
	a := &out.Record
	switch {
	case out.Err != nil:
		p.failed(out)
	case a.Class == resilience.ClassBrokenResult, a.Counts:
		p.watch.Heal()
		a.Elapsed = p.elapsed()
		j := a.Judge(p.gate.ToolLevel())
		p.settle(a, j)
		p.report(a, j)
	default:
		p.watch.Heal()
		p.succeeded(a)
	}
}

func (p *Permit) failed(out *outcome.Outcome) {
	a := &out.Record
	known := p.gate.EndCounted(p.link, out)
	a.Elapsed = p.elapsed()
	a.Probe = p.server.Probe() || p.tool.Probe()
	if a.Class == resilience.ClassTimeout {
		a.Alive = heardSince(p.link, p.heard)
	}
	a.Repeated = a.Repeated || p.repeated(a)
	if a.Class != resilience.ClassTimeout && a.Class != resilience.ClassCanceled {
		p.watch.Heard() // a server that fails is not silent
	}
	j := a.Judge(p.gate.ToolLevel())
	if known {
		j.Server = breaker.Neutral
	}
	p.settle(a, j)
	p.report(a, j)
}

func (p *Permit) succeeded(a *resilience.Attempt) {
	g := p.gate
	p.readable(a)
	if p.slot == resilience.Common {
		g.set.Bulkhead.Grow()
	}
	if p.tool == (breaker.Permit{}) && !p.server.Probe() && !g.metered {
		p.server.Settle(breaker.Success) // also with isError: the server works
		return
	}
	a.Elapsed = p.elapsed()
	a.Probe = p.server.Probe() // a call of a tool never holds the server's probe
	j := a.Judge(g.ToolLevel())
	p.server.Settle(j.Server)
	p.tool.Settle(j.Tool)
	p.report(a, j)
}

// readable records an outcome that may end a series of unreadable answers.
func (p *Permit) readable(a *resilience.Attempt) {
	h := p.parts
	if h == nil {
		h = p.gate.made.Peek()
	}
	if h != nil && h.streak.noted.Load() {
		h.streak.Note(*a, 1)
	}
}

// settle reports the failure of a request to the circuits. With CountAll every failure counts, as
// the seed defines, except when the caller gave up or the client was closed: that is no evidence
// about a server.
func (p *Permit) settle(a *resilience.Attempt, j resilience.Judgement) {
	if j.OwnDoing {
		p.server.Release()
		p.tool.Release()
		return
	}
	g := p.gate
	b := g.circuit(p.Purpose == link.Handshake)
	server := j.Server
	if b != nil && b.CountAll() {
		server = breaker.Failure
	}
	if p.owed == nil || !p.owed.takeServer(p, b, server, a) {
		if !p.server.Probe() {
			server = g.once(b, a, server)
		}
		p.server.SettleFor(server, a.Reason())
		g.emptyQueue(b)
	}
	if p.owed == nil || !p.owed.takeTool(p, j.Tool, a) {
		g.settleTool(p.Tool, p.tool, j.Tool, a.Class)
	}
	if j.Throttle > 0 {
		g.throttleFor(&p.Request, b, a, j.Throttle)
	}
	if p.slot == resilience.Common && (a.Class == resilience.ClassThrottled || a.Class == resilience.ClassBusy || a.Class == resilience.ClassTimeout) {
		g.set.Bulkhead.Drop(time.Now(), a.Elapsed)
	}
}

// report reports the end of the request to the meter.
func (p *Permit) report(a *resilience.Attempt, j resilience.Judgement) {
	if p.gate.metered {
		r := p.Request
		r.Attempts++
		p.gate.parts().Ended(r, p.link, *a, j)
	}
}

func (p *Permit) elapsed() time.Duration {
	if p.sent.IsZero() {
		return 0
	}
	return time.Since(p.sent)
}

// heardSince reports whether anything came over a link since it had counted n.
func heardSince(l *link.Link, n uint64) bool {
	counter, ok := l.Conn.(link.Counter)
	return ok && counter.Received() != n
}

// EndCounted reports whether the circuit has already counted the exit of the program behind l:
// all requests that end with a program have one cause.
func (g *Gate) EndCounted(l *link.Link, out *outcome.Outcome) bool {
	if f := out.Failure; f == nil || f.Process == nil || l == nil {
		return false
	}
	if c := out.Record.Class; c != resilience.ClassExited && c != resilience.ClassLost {
		return false
	}
	k := g.parts().Keeper.Peek()
	return k.Restarting() && !k.FirstEndOf(l)
}
