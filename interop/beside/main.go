// Command beside plays the same trouble for our client and for go-sdk's: the same
// servers, on the same machine, with the default options of both. It prints what each
// achieved. Exit 0: mainstay was nowhere worse; 1: it was; 75: not every scenario could
// be played; 2: wrong usage, or interrupted. scripts/beside.sh installs what it needs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// stage is where the servers of the scenarios are.
type stage struct {
	self       string // this program, which is also two servers
	node       string
	script     string // thrower.mjs, beside its node_modules
	everything string // go-sdk's example server
	packageArg string // what npx runs
	work       string // an empty folder
}

// thrower is the server in thrower.mjs, mute for some seconds.
func (s *stage) thrower(mute string) program {
	return program{argv: []string{s.node, s.script, mute}}
}

type scenario struct {
	name string
	play func(ctx context.Context, s *stage) result
	// aside is set for a scenario that only waits: it runs beside the others.
	aside bool
}

func scenarios() []scenario {
	return []scenario{
		{name: "thrower", play: thrower},
		{name: "stateless ping", play: ping},
		{name: "rolling restart", play: rolling},
		{name: "cold npx", play: coldNpx},
		{name: "mute start", play: muteStart, aside: true},
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if serve, is := helpers[args[0]]; is {
			return serve(ctx, args[1:], stderr)
		}
	}
	flags := flag.NewFlagSet("beside", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := stage{node: "node"}
	flags.StringVar(&s.script, "thrower", "", "thrower.mjs in a folder whose node_modules has the TypeScript SDK")
	flags.StringVar(&s.everything, "everything", "", "the program examples/server/everything of go-sdk")
	flags.StringVar(&s.packageArg, "npx", "", "the package that npx installs and runs")
	flags.StringVar(&s.work, "work", "", "a folder for files; its contents are not removed")
	only := flags.String("only", "", "only scenarios whose name contains this")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	var err error
	if s.self, err = os.Executable(); err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	began := time.Now()
	results := play(ctx, &s, *only)
	if len(results) == 0 {
		fmt.Fprintf(stderr, "no scenario is named %q\n", *only)
		return exitUsage
	}
	if ctx.Err() != nil { // figures of half a play would mislead
		fmt.Fprintln(stderr, "interrupted")
		return exitUsage
	}
	code := printTable(stdout, results)
	fmt.Fprintf(stdout, "\n%d scenarios in %.0f s\n", len(results), time.Since(began).Seconds())
	return code
}

// play plays the scenarios whose names contain only, one after another, except those
// that only wait.
func play(ctx context.Context, s *stage, only string) []result {
	var chosen []scenario
	for _, sc := range scenarios() {
		if strings.Contains(sc.name, only) {
			chosen = append(chosen, sc)
		}
	}
	results := make([]result, len(chosen))
	var aside sync.WaitGroup
	for i, sc := range chosen {
		if sc.aside {
			aside.Go(func() { results[i] = sc.named(ctx, s) })
		}
	}
	for i, sc := range chosen {
		if !sc.aside {
			results[i] = sc.named(ctx, s)
		}
	}
	aside.Wait()
	return results
}

func (sc scenario) named(ctx context.Context, s *stage) result {
	r := sc.play(ctx, s)
	for i := range r.rows {
		r.rows[i].scenario = sc.name
	}
	return r
}
