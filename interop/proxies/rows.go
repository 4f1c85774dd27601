package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// row is one question to all ways.
type row struct {
	name    string
	title   string
	text    string // what was done
	columns []string
	asks    func(w *way) bool
	play    func(ctx context.Context, s *stage, chosen []way, set func(w *way, values ...string))
}

func rows() []row {
	urls := func(w *way) bool { return w.urlFront() }
	return []row{
		{
			name: "requirements", title: "Requirements of the protocol", asks: behindProxy, play: each(requirements),
			text:    "`mcpctl conform server --suite protocol --side-effects all` through each proxy, with `refserver` behind it. Asked directly, `refserver` breaks none.",
			columns: []string{"broken", "inconclusive", "passed", "of revisions"},
		},
		{
			name: "speed", title: "Cost of a call", asks: everyWay, play: speed,
			text:    fmt.Sprintf("Calls of a tool that returns its argument (96 bytes), on one session: medians of %d rounds, in which all proxies take turns; in brackets the lowest and the highest.", speedRounds),
			columns: []string{"calls/s with 64 in flight", "p50 of one call at a time, µs"},
		},
		{
			name: "memory", title: "Memory", asks: behindProxy, play: each(memory),
			text:    "Memory of the processes of the proxy in MiB (PSS: pages that processes share count once): with one idle session, and with 100 that made one call each. Programs of the server are counted, not weighed: mcp-proxy has one for all hosts, so that no question of the server can reach the host that called.",
			columns: []string{"1 session", "100 sessions", "programs of the server"},
		},
		{
			name: "crash", title: "The server killed under load", asks: behindProxy, play: each(crash),
			text:    fmt.Sprintf("SIGKILL of the server after 1 s of 64 callers of a tool that takes 20 ms. They go on for %v, and pause for 50 ms after an error; a call has %v. A server with a URL is started again by its owner after %v, a program by nobody but the proxy. Played %d times; where the figures differ, all are shown. Executed twice: ids that the server executed more than once. Left: processes 3 s after the host has gone. Not in the table: with a server that is back within milliseconds, the next good answer of mcpctl, stdio ← URL, at b0c007e47d49 came 42 to 216 ms after the kill, in 8 plays.", crashAfter, crashCallTime, crashDown, crashTimes),
			columns: []string{"errors", "no answer", "executed twice", "next good answer after", "good after", "sessions of the host", "left"},
		},
		{
			name: "cut", title: "The answer cut after the tool ran", asks: behindProxy, play: each(cut),
			text:    "The server runs the tool and then cuts its answer: before the status line, inside a JSON body, inside an event; a program exits. The host calls once. Executions are counted by the server, 5 s after the host has its answer or for 15 s.",
			columns: []string{"answer cut", "executions", "what the host gets"},
		},
		{
			name: "orphans", title: "Processes left after SIGKILL", asks: behindProxy, play: each(orphans),
			text:    "3 s after SIGKILL of the host (stdio in front) or of the proxy: processes of the proxy and programs of the server that are left. A deaf program ignores the end of stdin and SIGTERM. With a URL in front there are 5 sessions.",
			columns: []string{"host killed", "host killed, deaf program", "proxy killed", "proxy killed, deaf program"},
		},
		{
			name: "restart", title: "The server restarted between two calls", asks: behindProxy, play: each(restart),
			text:    fmt.Sprintf("Behind a URL the server is restarted and has lost the session; a program is killed. %d times each. A host that gets 404 opens a new session, and the call that got it counts as failed.", restartTimes),
			columns: []string{"next call succeeds", "after (median)", "the call after it succeeds"},
		},
		{
			name: "frozen", title: "60 s without network", asks: func(w *way) bool { return behindProxy(w) && w.direction == stdioURL }, play: together(frozen),
			text:    "SIGSTOP of the server for 60 s, then SIGCONT. Its sessions end after 20 s, its access tokens after 30 s; there is a refresh token. One call is made 1 s into the stop, one right after it. supergateway has no login, so its server wants none. Pages: login pages opened after the first.",
			columns: []string{"call during the stop", "executions", "call after the stop", "answered after", "pages", "refreshes"},
		},
		{
			name: "leavers", title: "1,000 hosts that come and go", asks: urls, play: each(leavers),
			text:    fmt.Sprintf("1,000 hosts, 4 at a time, open a session, make one call and go without DELETE, for at most %v. Counted 5 s after the last; memory as above. mcp-proxy is the fastest and has one program because its hosts share it, as above; mcpctl keeps as many as --max-sessions allows, for 10 minutes.", leaversTime),
			columns: []string{"hosts served", "seconds", "MiB before", "MiB after", "programs of the server", "MiB of the programs"},
		},
		{
			name: "slow start", title: "A server that needs 20 s to start", asks: behindProxy, play: together(slowStart),
			text:    "From the start of the proxy to the answer to `tools/list`. Behind a URL nothing listens for 20 s; a program reads nothing for 20 s. The second run is the same with what the first has stored. A host waits 60 s. Of those that do not wait for a URL at which nothing listens, some end, and some answer with an error.",
			columns: []string{"first run", "second run"},
		},
	}
}

func everyWay(*way) bool { return true }

func behindProxy(w *way) bool { return w.peer != direct }

// each plays the ways one after another.
func each(one func(ctx context.Context, s *stage, w *way, set func(values ...string)) error) func(context.Context, *stage, []way, func(*way, ...string)) {
	return func(ctx context.Context, s *stage, chosen []way, set func(*way, ...string)) {
		for i := range chosen {
			w := &chosen[i]
			if err := one(ctx, s, w, func(values ...string) { set(w, values...) }); err != nil {
				set(w, "cannot: "+brief(err))
			}
		}
	}
}

// together plays the ways at the same time: what they measure is mostly waiting.
func together(one func(ctx context.Context, s *stage, w *way, set func(values ...string)) error) func(context.Context, *stage, []way, func(*way, ...string)) {
	return func(ctx context.Context, s *stage, chosen []way, set func(*way, ...string)) {
		var all sync.WaitGroup
		for i := range chosen {
			w := &chosen[i]
			all.Go(func() {
				if err := one(ctx, s, w, func(values ...string) { set(w, values...) }); err != nil {
					set(w, "cannot: "+brief(err))
				}
			})
		}
		all.Wait()
	}
}

func median[T cmp.Ordered](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

func millis(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
}

func mebi(kib int) string { return fmt.Sprintf("%.0f", float64(kib)/1024) }

func count(n int) string { return fmt.Sprint(n) }
