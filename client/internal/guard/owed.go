package guard

import (
	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Owed is the failure of a call that circuits have not counted yet. A call counts once, however
// many attempts it had: the failure of an attempt waits here, with the permit of that attempt,
// until the call has ended. The failure of a later attempt replaces it, and the success of a
// later attempt drops it. The permit keeps its generation, so an old failure does not count in a
// circuit that was closed meanwhile.
//
// Two failures are settled at once. One is that of a probe: the circuit waits for its verdict.
// The other is one that is repaired rather than retried: a server that loses one session after
// another has failed, even if each is renewed. The zero value is empty. One goroutine at a time
// may use it.
type Owed struct {
	gate   *Gate
	server debt
	tool   debt
	name   string // of the tool
}

// debt is a failure that one circuit has not counted. A tool has no permit before its first
// failure.
type debt struct {
	due     bool
	permit  breaker.Permit
	circuit *breaker.Breaker // of the server
	last    resilience.Attempt
}

// takeServer keeps a failure of the server, and its permit. It returns false if the failure must
// be settled now.
func (o *Owed) takeServer(p *Permit, b *breaker.Breaker, v breaker.Verdict, a *resilience.Attempt) bool {
	if v == breaker.Success {
		o.server.drop()
	}
	if v != breaker.Failure || p.server.Probe() || a.Class.Corrected() {
		return false
	}
	o.server.drop()
	o.server = debt{due: true, permit: p.server, circuit: b, last: *a}
	o.gate, p.server = p.gate, breaker.Permit{}
	return true
}

// takeTool is takeServer for the circuit of the tool.
func (o *Owed) takeTool(p *Permit, v breaker.Verdict, a *resilience.Attempt) bool {
	if v == breaker.Success {
		o.tool.drop()
	}
	if b := p.gate.toolCircuit(p.Tool); v == breaker.Neutral && b != nil && b.CountAll() {
		v = breaker.Failure
	}
	if v != breaker.Failure || p.tool.Probe() {
		return false
	}
	o.tool.drop()
	o.tool = debt{due: true, permit: p.tool, last: *a}
	o.gate, o.name, p.tool = p.gate, p.Tool, breaker.Permit{}
	return true
}

// drop discards the failure.
func (d *debt) drop() {
	d.permit.Release()
	*d = debt{}
}

// Succeeded records that a later attempt of the call has succeeded.
func (o *Owed) Succeeded() {
	o.server.drop()
	o.tool.drop()
}

// Count reports the failure of the call to the circuits. It does nothing the second time.
func (o *Owed) Count() {
	if d := o.server; d.due {
		o.server = debt{}
		d.permit.SettleFor(o.gate.once(d.circuit, &d.last, breaker.Failure), d.last.Reason())
		o.gate.emptyQueue(d.circuit)
	}
	if d := o.tool; d.due {
		o.tool = debt{}
		o.gate.settleTool(o.name, d.permit, breaker.Failure, d.last.Class)
	}
}
