package guard_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// obstacle is a reason to refuse a request.
type obstacle uint8

const (
	throttled obstacle = iota
	serverOpen
	toolOpen
	rateUsed
	placesUsed
	linkLost
	allInFlight
	late
)

// refusals are the errors of the obstacles.
var refusals = map[obstacle]string{
	throttled:   "the server asked for a pause between requests (status 429 or 503)",
	serverOpen:  "Service temporarily unavailable (circuit open)",
	toolOpen:    "Tool temporarily unavailable (circuit of the tool open)",
	rateUsed:    "too many calls per second to this server",
	placesUsed:  "too many calls wait for this server",
	linkLost:    "the server is being started again and was not ready within 1s",
	allInFlight: "too many calls in flight to this server",
	late:        "the call did not end within 1s",
}

// call is a request of a tool.
var call = guard.Request{Subject: outcome.Subject{Method: "tools/call", Tool: "t"}}

// limited is a gate with all limits, and the obstacles of a test.
type limited struct {
	*gate
	set     guard.Settings
	request guard.Request
}

func newLimited(t *testing.T, queue bool, obstacles ...obstacle) *limited {
	t.Helper()
	l := &limited{request: call}
	l.set = guard.Settings{Breaker: breaker.New(breaker.Settings{}), Tools: breaker.NewGroup(breaker.GroupSettings{}), MaxInFlight: 1}
	if queue {
		l.set.Rate = resilience.NewRate(1, 1)
		l.set.Bulkhead = resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1, Queue: -1})
	}
	l.gate = newGate(t, l.set)
	l.set.Tools.Get("t")
	for _, o := range obstacles {
		l.put(o)
	}
	return l
}

func (l *limited) put(o obstacle) {
	switch o {
	case throttled:
		l.ThrottleFor(time.Minute)
	case serverOpen:
		l.set.Breaker.Trip("a test")
	case toolOpen:
		l.set.Tools.Get("t").Trip("a test")
	case rateUsed:
		for range 2 {
			l.set.Rate.Reserve(time.Now(), time.Hour)
		}
	case placesUsed:
		l.set.Bulkhead.TryEnter(false)
	case linkLost:
		k := keeper.New(&l.core, keeper.Config{Restarts: &keeper.Restarts{Again: "started", Patience: time.Second}})
		k.Lost(l.core.Links.Load())
		l.keeper.Set(k)
	case allInFlight:
		other := guard.Request{Subject: outcome.Subject{Method: "ping"}, Purpose: link.Handshake}
		if _, err := l.Admit(context.Background(), other); err != nil { //nolint:forbidigo // never released
			panic(err)
		}
	case late:
		l.request.Span = core.Span{Began: time.Now().Add(-time.Minute), Wait: jsonrpc.Wait{Max: time.Second}}
		l.request.Waited = true
	}
}

// held counts what requests hold of the limits.
func (l *limited) held() []any {
	server, tool := l.set.Breaker.Snapshot(), l.set.Tools.Get("t").Snapshot()
	held := []any{l.InFlight(), server.ProbeInFlight, tool.ProbeInFlight}
	if l.set.Bulkhead != nil {
		held = append(held, l.set.Bulkhead.Usage())
	}
	return held
}

// The checks have one order, with and without a queue. A refused request holds nothing.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		queue bool
		order []obstacle
	}{
		"with a queue": {true, []obstacle{throttled, serverOpen, toolOpen, rateUsed, placesUsed, linkLost, allInFlight}},
		"without":      {false, []obstacle{throttled, allInFlight, serverOpen, late, toolOpen}},
	} {
		for i, first := range tt.order {
			t.Run(name+": "+refusals[first], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := newLimited(t, tt.queue, tt.order[i:]...)
					before := l.held()
					p, err := l.Admit(t.Context(), l.request)
					var e *mcperrors.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, []any{refusals[first], mcperrors.NotSent}, []any{e.Message, e.Delivery})
					require.Equal(t, before, l.held())
					p.Release()
					require.Equal(t, before, l.held())
				})
			})
		}
	}
}

// The purpose of a request decides which limits apply.
func TestPurposes(t *testing.T) {
	t.Parallel()
	all := []obstacle{throttled, serverOpen, rateUsed, placesUsed, linkLost, allInFlight}
	for name, tt := range map[string]struct {
		purpose link.Purpose
		method  string
		keep    []obstacle
	}{
		"a call":             {link.Ordinary, "resources/read", all},
		"a probe":            {link.Liveness, "ping", []obstacle{throttled, serverOpen, linkLost, allInFlight}},
		"the handshake":      {link.Handshake, "initialize", []obstacle{serverOpen}},
		"what a session had": {link.Restore, "resources/subscribe", []obstacle{throttled, serverOpen}},
	} {
		for _, o := range all {
			t.Run(name+": "+refusals[o], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := newLimited(t, true, o)
					p, err := l.Admit(t.Context(), guard.Request{Subject: outcome.Subject{Method: tt.method}, Purpose: tt.purpose})
					defer p.Release()
					if !slices.Contains(tt.keep, o) {
						require.NoError(t, err)
						return
					}
					require.ErrorContains(t, err, refusals[o])
				})
			})
		}
	}
}

// Every admitted request is settled exactly once, however it ends.
func TestSettledOnce(t *testing.T) {
	t.Parallel()
	failure := func(r transport.Reason) outcome.Outcome {
		return outcome.OfFailure(&outcome.Sent{Method: "tools/call", Tool: "t"}, &transport.Failure{Reason: r, Err: errors.New("x")})
	}
	type count struct{ successes, failures uint64 }
	result := outcome.Of(&outcome.Sent{Method: "tools/call", Tool: "t"}, transport.Answer{Response: jsonrpc.Response{Result: []byte(`{}`)}}, nil)
	outcomes := map[string]struct {
		out  outcome.Outcome
		want count // for the circuit of the server
	}{
		"a result":        {result, count{successes: 1}},
		"a broken result": {outcome.Outcome{Record: resilience.Attempt{Method: "tools/call", Class: resilience.ClassBrokenResult}}, count{}},
		"no answer":       {failure(transport.ReasonLost), count{failures: 1}},
		"given up":        {failure(transport.ReasonCanceled), count{}},
	}
	ends := map[string]struct {
		settles, panics bool
		end             func(l *limited, p *guard.Permit, out *outcome.Outcome)
	}{
		"settled": {settles: true, end: func(_ *limited, p *guard.Permit, out *outcome.Outcome) {
			p.Settle(out)
			p.Release()
			p.Release()
		}},
		"its goroutine ends": {end: func(_ *limited, p *guard.Permit, _ *outcome.Outcome) { p.Release() }},
		"the meter panics": {settles: true, panics: true, end: func(l *limited, p *guard.Permit, out *outcome.Outcome) {
			defer p.Release()
			l.report = func() { panic("the meter") }
			p.Settle(out)
		}},
	}
	for outName, o := range outcomes {
		for endName, end := range ends {
			t.Run(outName+", "+endName, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := newLimited(t, true)
					free := l.held()
					p, err := l.Admit(t.Context(), call)
					require.NoError(t, err)
					require.NotEqual(t, free, l.held())
					p.Sending(l.core.Links.Load())
					out := o.out
					if end.panics {
						require.Panics(t, func() { end.end(l, &p, &out) })
					} else {
						end.end(l, &p, &out)
					}
					require.Equal(t, free, l.held())
					var want count
					reports := 0
					if end.settles {
						want, reports = o.want, 1
					}
					s := l.set.Breaker.Snapshot()
					require.Equal(t, want, count{s.Successes, s.Failures})
					require.Equal(t, reports, l.reports)
				})
			})
		}
	}
}

// If the probe of a circuit is abandoned, the next request probes. A caller that gives up does
// not end the ping before its request.
func TestProbeIsLeft(t *testing.T) {
	t.Parallel()
	t.Run("by a request that is one", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLimited(t, false, serverOpen)
			time.Sleep(time.Minute)
			for range 2 {
				p, err := l.Admit(t.Context(), guard.Request{Subject: outcome.Subject{Method: "tools/list"}})
				require.NoError(t, err)
				require.True(t, l.set.Breaker.Snapshot().ProbeInFlight)
				p.Release()
				require.False(t, l.set.Breaker.Snapshot().ProbeInFlight)
			}
		})
	})
	t.Run("by a caller", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLimited(t, false, serverOpen)
			time.Sleep(time.Minute)
			l.ping = func() outcome.Outcome {
				time.Sleep(time.Second)
				return outcome.Of(&outcome.Sent{Method: "ping"}, transport.Answer{Response: jsonrpc.Response{Result: []byte(`{}`)}}, nil)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			p, err := l.Admit(ctx, call)
			require.Equal(t, []any{mcperrors.KindTimeout, mcperrors.NotSent}, []any{mcperrors.KindOf(err), mcperrors.DeliveryOf(err)})
			require.Zero(t, l.InFlight())
			p.Release()
			time.Sleep(time.Second)
			require.Equal(t, breaker.Closed, l.set.Breaker.State())
		})
	})
	t.Run("by a hook that panics", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLimited(t, true, allInFlight)
			before := l.held()
			l.signal = func() { panic("a test") }
			require.Panics(t, func() { _, _ = l.Admit(t.Context(), call) })
			require.Equal(t, before, l.held())
		})
	})
}

// A hedged request takes a free place at once, and does not wait.
func TestTryAdmit(t *testing.T) {
	t.Parallel()
	for _, o := range []obstacle{rateUsed, placesUsed, allInFlight} {
		t.Run(refusals[o], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLimited(t, true, o)
				before := l.held()
				_, ok := l.TryAdmit(call)
				require.False(t, ok)
				require.Equal(t, before, l.held())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLimited(t, true)
		free := l.held()
		p, ok := l.TryAdmit(call)
		require.True(t, ok)
		require.NotEqual(t, free, l.held())
		p.Release()
		require.Equal(t, free, l.held())
	})
}
