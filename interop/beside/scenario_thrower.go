package main

import (
	"context"
	"time"
)

// throws is how many calls of each kind the scenario makes: more than open a circuit.
const throws = 12

// thrower: a tool that answers bad arguments with the JSON-RPC error -32603 must stay
// callable. First calls that throw, then good ones, one after another.
func thrower(ctx context.Context, s *stage) result {
	var r result
	var own, good [2]int
	var took [2]time.Duration
	for i, side := range sides() {
		began := time.Now()
		open, err := side.start(ctx, s.thrower("0"))
		if err != nil {
			r.fail(side.name, "thrower: connect", err)
			continue
		}
		own[i], good[i] = throwThenCall(ctx, open, func(what string, err error) { r.fail(side.name, "thrower: "+what, err) })
		took[i] = time.Since(began)
		if err := open.close(); err != nil {
			r.fail(side.name, "thrower: close", err)
		}
	}
	r.add("throwing calls answered with the server's own error", atLeast(own, 0), counts(own, throws))
	r.add("good calls after them answered", atLeast(good, 0), counts(good, throws))
	r.add("time for all", onlyShown, times(took))
	return r
}

func throwThenCall(ctx context.Context, open session, failed func(what string, err error)) (own, good int) {
	const internalError = -32603
	for n := range throws {
		_, err := open.call(ctx, "get_issue", map[string]any{"number": 2*n + 1})
		if code, answered := serverCode(err); answered && code == internalError {
			own++
		} else {
			failed("a throwing call", err)
		}
	}
	for n := range throws {
		if _, err := open.call(ctx, "get_issue", map[string]any{"number": 2 * n}); err != nil {
			failed("a good call", err)
			continue
		}
		good++
	}
	return own, good
}
