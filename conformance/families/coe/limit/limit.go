// Package limit counts calls in sliding windows: per agent, over all agents,
// and per agent in bursts (tools.md §3.5).
package limit

import (
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A Limit is a number of calls in a window. With Calls below 1 there is none.
type Limit struct {
	Calls  int
	Window time.Duration
}

func (l Limit) on() bool { return l.Calls > 0 }

// Rates are the limits of a server.
type Rates struct {
	// Agent and Burst hold for each agent alone, Global for all together.
	Agent, Global, Burst Limit
}

// Defaults are the rates of S1: 100 a minute from one agent, 500 from all, 10 a
// second from one agent.
func Defaults() Rates {
	return Rates{Agent: Limit{100, time.Minute}, Global: Limit{500, time.Minute}, Burst: Limit{10, time.Second}}
}

// Of returns the limit that a [family.Quota] calls scope.
func (r Rates) Of(scope string) Limit {
	return map[string]Limit{"agent": r.Agent, "global": r.Global, "burst": r.Burst}[scope]
}

// Limiter admits calls. It is safe for concurrent use.
type Limiter struct {
	rates Rates

	mu     sync.Mutex
	agents map[string]*agent
	global window
	swept  time.Time
}

type agent struct{ minute, burst window }

// New returns a limiter that has admitted nothing yet.
func New(rates Rates) *Limiter { return &Limiter{rates: rates, agents: map[string]*agent{}} }

// Take asks for one call of an agent at an instant. A call that is refused is
// not counted (S1-RATE-06).
func (l *Limiter) Take(name string, now time.Time) family.Quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	a := l.agents[name]
	if a == nil {
		a = &agent{}
	}
	scopes := []struct {
		name   string
		window *window
		limit  Limit
	}{
		{"agent", &a.minute, l.rates.Agent},
		{"global", &l.global, l.rates.Global},
		{"burst", &a.burst, l.rates.Burst},
	}
	// A burst is over in a second, and the calls of others are not the caller's:
	// what it plans by, and reads in the headers, is its own minute.
	var q family.Quota
	for _, s := range scopes {
		if s.limit.on() && q.Limit == 0 {
			q.Limit = s.limit.Calls
		}
		if !s.limit.on() || s.window.free(now, s.limit) > 0 {
			continue
		}
		// Of several full windows the one that stays full longest decides.
		if reset := s.window.reset(now, s.limit); reset.After(q.Reset) {
			q.Refused, q.Scope, q.Reset, q.RetryAfter = true, s.name, reset, reset.Sub(now)
		}
	}
	if q.Refused {
		return q
	}
	for _, s := range scopes {
		if !s.limit.on() {
			continue
		}
		s.window.add(now)
		free := s.window.free(now, s.limit)
		if q.Scope == "" || s.name == "global" && free < q.Remaining {
			q.Scope, q.Remaining, q.Reset = s.name, free, s.window.reset(now, s.limit)
		}
	}
	if l.rates.Agent.on() || l.rates.Burst.on() {
		l.agents[name] = a
	}
	return q
}

// Reset forgets every call.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agents, l.global = map[string]*agent{}, window{}
}

// sweep forgets agents without a call in their windows, so that invented names
// do not fill the memory. It looks at most once in a window.
func (l *Limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < max(l.rates.Agent.Window, l.rates.Burst.Window) {
		return
	}
	l.swept = now
	for name, a := range l.agents {
		a.minute.drop(now.Add(-l.rates.Agent.Window))
		a.burst.drop(now.Add(-l.rates.Burst.Window))
		if len(a.minute.calls)+len(a.burst.calls) == 0 {
			delete(l.agents, name)
		}
	}
}

// A window holds the instants of the calls it has admitted, oldest first. There
// are never more of them than the limit.
type window struct{ calls []time.Time }

func (w *window) add(now time.Time) { w.calls = append(w.calls, now) }

// drop forgets the calls up to an instant: capacity returns exactly one window
// after a call (S1-RATE-05).
func (w *window) drop(until time.Time) {
	n := 0
	for n < len(w.calls) && !w.calls[n].After(until) {
		n++
	}
	w.calls = append(w.calls[:0], w.calls[n:]...)
}

func (w *window) free(now time.Time, l Limit) int {
	w.drop(now.Add(-l.Window))
	return l.Calls - len(w.calls)
}

// reset is when the oldest call leaves the window.
func (w *window) reset(now time.Time, l Limit) time.Time {
	if len(w.calls) == 0 {
		return now
	}
	return w.calls[0].Add(l.Window)
}
