package fleetredis

import (
	"fmt"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
)

const (
	// probeLease is how long one node may probe a server for all: the probe's timeout of
	// 5 s, and a second for the network.
	probeLease = 6 * time.Second
	// maxRefusal is how long a node refuses calls because another node probes. It asks
	// again before the end. A node that has lost Redis meanwhile probes on its own after
	// at most this time.
	maxRefusal = 2 * time.Second
	// lead is how long before the end of a refusal a node requests the lease: two checks
	// of the breakers, so that the answer arrives in time.
	lead = 2 * lookInterval
	// slack is how much longer a refusal lasts than the other node's lease. So the next
	// request for the lease comes after its end, and waiting nodes do not probe together.
	slack = 2 * lead
)

// refusal returns how long a node leaves the probe to another node whose lease lasts for
// left.
func refusal(left time.Duration) time.Duration { return min(left+slack, maxRefusal) }

// hinted begins the reason of a transition that hints caused. Nodes do not report such
// transitions: otherwise two nodes could keep a whole fleet OPEN forever.
const hinted = "fleet hint: "

// standing is the status of a breaker at one check.
type standing struct {
	state      breaker.State
	generation uint64
	// retryAfter is how long the cooldown or a throttle still refuses calls.
	retryAfter time.Duration
	refused    uint64
	reason     string        // of the last opening
	hold       time.Duration // left of the hold gate
	holdReason string
	// manual is set if an operator has set a mode.
	manual bool
}

// view is the state of one server at a node. It changes with each check of the node's own
// breaker and each hint of other nodes. It does no I/O, reads no clock and is not safe for
// concurrent use.
type view struct {
	node   string
	server string
	cred   string // "" : holds are not shared

	seen    uint64                // generation last looked at
	reports map[string]*remote    // live OPENs, by node
	told    uint64                // generation of our OPEN that Redis has, 0 for none
	leased  time.Time             // until when the probe is ours
	demand  uint64                // refusals when the lease was last asked for
	proven  bool                  // another node's probe went well since we opened
	waits   time.Time             // since when the probe is left to others
	cleared time.Time             // when our own probe last went well
	owed    bool                  // the others are to know that it did
	wary    time.Time             // until when the breaker is suspicious
	gated   time.Time             // until when our own hold is known to Redis
	holds   time.Time             // until when a hold of others lasts here
	dropped map[string]droppedSeq // reports taken back, so that a late copy does not return
}

// remote is an OPEN that another node reports.
type remote struct {
	until time.Time
	seq   uint64
	heard time.Time // first
}

type droppedSeq struct {
	seq   uint64
	until time.Time
}

func newView(node, server, cred string) *view {
	return &view{node: node, server: server, cred: cred, reports: map[string]*remote{}, dropped: map[string]droppedSeq{}}
}

// maxReporters limits the reports of one server in memory.
const maxReporters = 1024

// advice is what the node's own breaker should do.
type advice struct {
	suspect time.Duration
	trip    string
	wait    time.Duration // because another node probes
	hold    time.Duration // because the server said so
}

// hear handles a hint of another node about the server.
func (v *view) hear(now time.Time, s standing, h hint) advice {
	switch h.kind {
	case kindOpen:
		v.report(now, h)
	case kindLeft:
		v.drop(h.node)
	case kindClosed:
		v.drop(h.node)
		// The server answers again, and each node may probe with its next call. If
		// the hint is wrong, each node sends one probe for each cooldown, as it would
		// alone.
		v.proven = s.state != breaker.Closed
	case kindProbing:
		return v.leave(now, s, h.lasts)
	case kindHold:
		if v.cred != "" && h.cred == v.cred {
			return v.holdFor(now, h.lasts)
		}
	}
	return advice{}
}

// drop removes the report of a node.
func (v *view) drop(node string) {
	if r := v.reports[node]; r != nil {
		delete(v.reports, node)
		if len(v.dropped) < maxReporters {
			v.dropped[node] = droppedSeq{r.seq, r.until}
		}
	}
}

// gone returns the orders that withdraw this node's data from Redis.
func (v *view) gone(now time.Time) []order {
	if v.told == 0 && !v.leased.After(now) {
		return nil
	}
	return []order{v.order(orderLeave, hint{kind: kindLeft, seq: v.told})}
}

// leave leaves the probe to another node whose lease lasts for left. It does so for at most
// five minutes, however often others report that they probe. Then this node probes itself,
// so that one node cannot silence a fleet.
func (v *view) leave(now time.Time, s standing, left time.Duration) advice {
	wait := refusal(left)
	if s.state != breaker.Open || v.proven || wait <= s.retryAfter {
		return advice{}
	}
	if v.waits.IsZero() {
		v.waits = now
	}
	if now.Sub(v.waits) >= maxHint {
		return advice{}
	}
	return advice{wait: wait}
}

// holdFor applies a throttle of other nodes.
func (v *view) holdFor(now time.Time, d time.Duration) advice {
	until := now.Add(d)
	if !until.After(v.holds) {
		return advice{}
	}
	v.holds = until
	return advice{hold: d}
}

func (v *view) report(now time.Time, h hint) {
	if d, ok := v.dropped[h.node]; ok && h.seq <= d.seq {
		return
	}
	until := now.Add(h.lasts)
	switch r := v.reports[h.node]; {
	case r == nil && len(v.reports) < maxReporters:
		v.reports[h.node] = &remote{until: until, seq: h.seq, heard: now}
	case r == nil: // so many reports are more than a quorum
	case h.seq > r.seq:
		*r = remote{until: until, seq: h.seq, heard: now}
	case h.seq == r.seq:
		r.until = until
	}
}

// resync replaces the hints that were received by those in Redis. mine reports whether
// Redis has this node's own report.
func (v *view) resync(now time.Time, found []hint, mine bool) {
	there := make(map[string]bool, len(found))
	for _, h := range found {
		if h.kind == kindOpen && h.server == v.server && h.node != v.node {
			there[h.node] = true
			v.report(now, h)
		}
	}
	for node := range v.reports {
		if !there[node] {
			delete(v.reports, node)
		}
	}
	if !mine {
		v.told = 0 // Redis has lost it: the next step reports it again
	}
}

// step handles a check of the breaker. It returns the orders for Redis and the advice for
// the breaker. nodes is the size of the fleet, 0 if it is unknown.
func (v *view) step(now time.Time, s standing, nodes int) ([]order, advice) {
	v.expire(now)
	if s.generation != v.seen {
		v.turn(now, s)
	}
	if s.manual {
		return v.withdrawn(), advice{}
	}
	var orders []order
	switch s.state {
	case breaker.Open:
		own := !strings.Contains(s.reason, hinted)
		if own && v.told != s.generation && s.retryAfter > 0 {
			orders = append(orders, v.order(orderOpen, hint{kind: kindOpen, lasts: s.retryAfter, seq: s.generation, reason: s.reason}))
		}
		// Only a node with calls requests the lease. An idle node would not use it while
		// busy ones wait for it.
		if s.retryAfter <= lead && s.refused != v.demand && !v.proven && !v.leased.After(now) {
			v.demand = s.refused
			orders = append(orders, v.order(orderLease, hint{kind: kindProbing, lasts: probeLease}))
		}
	case breaker.HalfOpen:
		if !v.leased.After(now) && !v.proven { // an idle node's probe: the others should know
			v.leased = now.Add(probeLease)
			orders = append(orders, v.order(orderLease, hint{kind: kindProbing, lasts: probeLease}))
		}
	case breaker.Closed:
		orders = v.withdrawn()
	}
	if v.cred != "" && s.hold > 0 && !strings.Contains(s.holdReason, hinted) {
		// With half a second of tolerance, a throttle that is checked twice counts as the
		// same one, and a throttle from a hint is not reported again.
		known := v.gated
		if v.holds.After(known) {
			known = v.holds
		}
		if now.Add(s.hold).After(known.Add(500 * time.Millisecond)) {
			orders = append(orders, v.order(orderHold, hint{kind: kindHold, cred: v.cred, lasts: s.hold}))
		}
	}
	return orders, v.advise(now, s, nodes)
}

// withdrawn withdraws this node's report, and reports that its probe succeeded. It also does
// the latter without a report, because hints may have opened this node's breaker while
// others wait for its probe.
func (v *view) withdrawn() []order {
	if v.told == 0 && !v.owed {
		return nil
	}
	return []order{v.order(orderClosed, hint{kind: kindClosed, seq: v.told})}
}

// turn handles a new generation of the breaker.
func (v *view) turn(now time.Time, s standing) {
	v.seen, v.owed = s.generation, false
	switch s.state {
	case breaker.Open:
		v.demand, v.proven, v.waits = s.refused, false, time.Time{}
	case breaker.Closed:
		if s.generation > 1 {
			v.cleared, v.owed = now, true
		}
		v.proven = false
	case breaker.HalfOpen:
	}
}

func (v *view) expire(now time.Time) {
	for node, r := range v.reports {
		if !r.until.After(now) {
			delete(v.reports, node)
		}
	}
	for node, d := range v.dropped {
		if !d.until.After(now) {
			delete(v.dropped, node)
		}
	}
}

// advise counts the reports: one makes the breaker suspicious, a quorum opens it. Reports
// from before this node's own successful probe do not count.
func (v *view) advise(now time.Time, s standing, nodes int) advice {
	if s.state != breaker.Closed {
		return advice{}
	}
	var until time.Time
	count := 0
	for _, r := range v.reports {
		if r.heard.Before(v.cleared) {
			continue
		}
		count++
		if r.until.After(until) {
			until = r.until
		}
	}
	switch {
	case count == 0:
		return advice{}
	case nodes > 0 && count >= quorum(nodes):
		return advice{trip: fmt.Sprintf(hinted+"%d of %d nodes report it OPEN", count, nodes)}
	case until.After(v.wary):
		v.wary = until
		return advice{suspect: until.Sub(now)}
	}
	return advice{}
}

// quorum returns how many nodes must report a server before the others open their breakers.
// One node with a broken network must not silence a fleet.
func quorum(nodes int) int { return max(2, (nodes+9)/10) }

func (v *view) order(kind orderKind, h hint) order {
	h.node, h.server = v.node, v.server
	return order{kind: kind, hint: h}
}

// answered handles the reply to an order. left is how long another node has the lease.
func (v *view) answered(now time.Time, s standing, o order, left time.Duration) advice {
	switch o.kind {
	case orderOpen:
		v.told = o.hint.seq
	case orderClosed:
		v.told, v.owed, v.leased = 0, false, time.Time{}
	case orderHold:
		v.gated = now.Add(o.hint.lasts)
	case orderLease:
		if left <= 0 {
			v.leased = now.Add(probeLease)
			return advice{}
		}
		return v.leave(now, s, left)
	default: // requests for data, which views do not send
	}
	return advice{}
}
