package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

const (
	// coldPatience is how long an application waits for Connect. Mainstay's own bounds
	// are 60 s for a program that says nothing, and then 5 minutes for a second start.
	coldPatience = 200 * time.Second
	// npxFactor and npxSlack bound the time of mainstay by that of go-sdk. Downloads
	// differ; a start that is thrown away and made again costs more than this.
	npxFactor = 2
	npxSlack  = 15 * time.Second
	muteFor   = "75" // seconds: longer than mainstay's first start may take
)

// start is how a program was connected to.
type start struct {
	connected bool
	took      time.Duration
	err       error
}

// startBoth connects both sides to their programs at the same time, so that the
// machine and the network treat them alike.
func startBoth(ctx context.Context, programs [2]program, tool string, args map[string]any) (starts [2]start) {
	ctx, stop := context.WithTimeout(ctx, coldPatience)
	defer stop()
	var both sync.WaitGroup
	for i, side := range sides() {
		both.Go(func() { starts[i] = startOne(ctx, side, programs[i], tool, args) })
	}
	both.Wait()
	return starts
}

// startOne connects, and calls a tool to see that the connection works.
func startOne(ctx context.Context, side side, p program, tool string, args map[string]any) start {
	began := time.Now()
	open, err := side.start(ctx, p)
	if err == nil {
		_, err = open.call(ctx, tool, args)
	}
	s := start{connected: err == nil, took: time.Since(began), err: err}
	if open != nil {
		_ = open.close() // a server that is ended by a signal says so here, on purpose
	}
	return s
}

// coldNpx: npx downloads a server and everything it needs into an empty cache while
// every core is busy.
func coldNpx(ctx context.Context, s *stage) result {
	var r result
	stop, err := burn(s.self, runtime.NumCPU())
	if err != nil {
		r.fail("both", "cold npx: burners", err)
		r.add("connected", unplayed, [2]string{"-", "-"})
		return r
	}
	defer stop()
	var programs [2]program
	for i, side := range sides() {
		cache, err := os.MkdirTemp(s.work, "npm-"+side.name+"-")
		if err != nil {
			r.fail(side.name, "cold npx: cache", err)
			r.add("connected", unplayed, [2]string{"-", "-"})
			return r
		}
		programs[i] = program{
			argv: []string{"npx", "-y", s.packageArg, "stdio"},
			env:  []string{"npm_config_cache=" + filepath.Clean(cache), "npm_config_update_notifier=false"},
		}
	}
	starts := startBoth(ctx, programs, "echo", map[string]any{"message": "hi"})
	r.connected("cold npx", starts)
	if !starts[0].connected && !starts[1].connected {
		return r
	}
	took := [2]time.Duration{starts[0].took, starts[1].took}
	inTime := verdictOf(took[0] <= took[1]*npxFactor+npxSlack)
	if !starts[1].connected {
		inTime = onlyShown
	}
	r.add("time to the first answer", inTime, times(took))
	return r
}

// muteStart: a program that does nothing for 75 s before it reads its stdin, as a slower
// npx. Mainstay starts it a second time after 60 s, so it takes longer, on purpose: the
// time is not compared.
func muteStart(ctx context.Context, s *stage) result {
	var r result
	starts := startBoth(ctx, [2]program{s.thrower(muteFor), s.thrower(muteFor)}, "get_issue", map[string]any{"number": 2})
	r.connected("mute start", starts)
	r.add("time to the first answer", onlyShown, times([2]time.Duration{starts[0].took, starts[1].took}))
	return r
}

// connected adds the row that says who reached the server.
func (r *result) connected(name string, starts [2]start) {
	var reached [2]int
	var values [2]string
	for i, side := range sides() {
		values[i] = "no"
		if starts[i].connected {
			reached[i], values[i] = 1, "yes"
		} else {
			r.fail(side.name, name, starts[i].err)
		}
	}
	r.add("connected", atLeast(reached, 0), values)
}
