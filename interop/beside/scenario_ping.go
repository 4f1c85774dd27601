package main

import (
	"context"
	"time"
)

const (
	pings = 5
	// pingPatience bounds a call whose ping is not answered.
	pingPatience = 10 * time.Second
	// pingSlack is what a busy machine may add to calls that take milliseconds.
	pingSlack = time.Second
)

// ping: go-sdk's example server "everything" over stdio, in the stateless era. Its tool
// ping asks the client for a sign of life before it answers the call.
func ping(ctx context.Context, s *stage) result {
	var r result
	var answered [2]int
	var took [2]time.Duration
	var revisions [2]string
	for i, side := range sides() {
		open, err := side.start(ctx, program{argv: []string{s.everything}})
		if err != nil {
			r.fail(side.name, "ping: connect", err)
			continue
		}
		revisions[i] = open.revision()
		began := time.Now()
		for range pings {
			callCtx, stop := context.WithTimeout(ctx, pingPatience)
			if _, err := open.call(callCtx, "ping", map[string]any{}); err != nil {
				r.fail(side.name, "ping: a call", err)
			} else {
				answered[i]++
			}
			stop()
		}
		took[i] = time.Since(began)
		if err := open.close(); err != nil {
			r.fail(side.name, "ping: close", err)
		}
	}
	r.add("revision", onlyShown, revisions)
	r.add("calls answered while the server pings", atLeast(answered, 0), counts(answered, pings))
	r.add("time for all", within(took, pingSlack), times(took))
	return r
}
