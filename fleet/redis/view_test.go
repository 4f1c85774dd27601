package fleetredis

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

var began = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func open(node string, seq uint64) hint {
	return hint{kind: kindOpen, node: node, server: digest(theServer), lasts: 30 * time.Second, seq: seq}
}

func kinds(orders []order) (all []orderKind) {
	for _, o := range orders {
		all = append(all, o.kind)
	}
	return all
}

// Nodes whose breakers hints opened report that their probe succeeded. Otherwise all others
// would wait for the lease one after the other.
func TestPreOpenedNodesTellThatTheServerIsBack(t *testing.T) {
	t.Parallel()
	v := newView("a", digest(theServer), "")
	v.step(began, standing{state: breaker.Closed, generation: 1}, 20)
	v.hear(began, standing{state: breaker.Closed}, open("b", 1))
	v.hear(began, standing{state: breaker.Closed}, open("c", 1))
	_, a := v.step(began, standing{state: breaker.Closed, generation: 1}, 20)
	require.NotEmpty(t, a.trip)
	orders, _ := v.step(began, standing{state: breaker.Open, generation: 2, retryAfter: time.Second, reason: a.trip}, 20)
	require.Empty(t, orders)
	closed := standing{state: breaker.Closed, generation: 4}
	orders, _ = v.step(began.Add(time.Second), closed, 20)
	require.Equal(t, []orderKind{orderClosed}, kinds(orders))
	v.answered(began, closed, orders[0], 0)
	orders, _ = v.step(began.Add(2*time.Second), closed, 20)
	require.Empty(t, orders, "once")
}

// A late copy of a withdrawn report has no effect; a new report has.
func TestReportsTakenBackStayAway(t *testing.T) {
	t.Parallel()
	v := newView("a", digest(theServer), "")
	s := standing{state: breaker.Closed, generation: 1}
	v.hear(began, s, open("b", 5))
	v.hear(began, s, hint{kind: kindClosed, node: "b", server: digest(theServer), seq: 5})
	v.hear(began, s, open("b", 5))
	require.Empty(t, v.reports)
	v.resync(began, []hint{open("b", 5)}, true)
	require.Empty(t, v.reports)
	v.hear(began, s, open("b", 7))
	require.Len(t, v.reports, 1)
}

// Modes that an operator sets are not shared.
func TestForcedBreakersTakeNoPart(t *testing.T) {
	t.Parallel()
	v := newView("a", digest(theServer), digest("token"))
	s := standing{state: breaker.Open, generation: 2, retryAfter: time.Minute, hold: time.Minute}
	orders, _ := v.step(began, s, 1)
	require.Equal(t, []orderKind{orderOpen, orderHold}, kinds(orders))
	for _, o := range orders {
		v.answered(began, s, o, 0)
	}
	s.manual = true
	v.hear(began, s, open("b", 1))
	v.hear(began, s, open("c", 1))
	orders, a := v.step(began, s, 2)
	require.Equal(t, []orderKind{orderClosed}, kinds(orders), "the report is withdrawn")
	require.Zero(t, a)
}

// The number of reporters in memory is limited.
func TestReportersAreBounded(t *testing.T) {
	t.Parallel()
	v := newView("a", digest(theServer), "")
	for i := range 3 * maxReporters {
		node := string(rune('a'+i%26)) + time.Duration(i).String()
		v.hear(began, standing{}, open(node, 1))
		v.hear(began, standing{}, hint{kind: kindClosed, node: node, server: digest(theServer), seq: 1})
		v.hear(began, standing{}, open(node+"x", 1))
	}
	require.LessOrEqual(t, len(v.reports), maxReporters)
	require.LessOrEqual(t, len(v.dropped), maxReporters)
	v.step(began.Add(time.Minute), standing{generation: 1}, 1)
	require.Empty(t, v.reports)
	require.Empty(t, v.dropped)
}

// One node must not silence a fleet: the others do not wait forever for a node that
// always probes.
func TestOneNodeThatAlwaysProbes(t *testing.T) {
	t.Parallel()
	probing := hint{kind: kindProbing, node: "liar", server: digest(theServer), lasts: probeLease}
	for name, lie := range map[string]func(*memory){
		"as it says": func(m *memory) { m.say(probing.encode()) },
		"by a lease": func(m *memory) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.keys["probe:"+probing.server] = value{"liar " + probing.encode(), time.Now().Add(probeLease)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, nodes := fleetOf(t, 3)
				defer leave(nodes...)
				b := nodes[1].b
				for range 2 { // it failed once more: the same again
					for fail(t, b, 1); b.State() != breaker.Open; {
						fail(t, b, 1)
					}
					opened, refused := time.Now(), 0
					for {
						lie(m)
						time.Sleep(time.Second)
						require.Less(t, time.Since(opened), maxHint+40*time.Second, "one node's word keeps it OPEN")
						if p, err := b.Acquire(); err == nil {
							p.Release()
							break
						}
						refused++
					}
					require.Greater(t, refused, 60, "a while it is waited for")
				}
			})
		})
	}
}
