// Command logins plays a person who logs in at authorization servers that others wrote,
// with mcpctl, with a short program (program) and with go-sdk's client (gosdk), and
// prints which step works with which of them. Exit 0: all is well with mainstay where the
// server can do it; 1: something is not; 2: wrong usage, or interrupted; 75: a server did
// not start. scripts/logins.sh installs what it needs.
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

const (
	exitFailed  = 1
	exitUsage   = 2
	exitMissing = 75
)

// atOnce is how many servers are played at the same time. Most of the time is waiting for
// tokens to expire.
const atOnce = 3

// stage is where the programs are.
type stage struct {
	bin  string // folder of mcpctl, refserver, program, gosdk and foreign
	node string
	mjs  string // folder of the servers for Node.js, with their node_modules
	work string // an empty folder
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("logins", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s stage
	flags.StringVar(&s.bin, "bin", "", "the folder of mcpctl, refserver, program, gosdk and foreign")
	flags.StringVar(&s.node, "node", "node", "Node.js, 22 or later")
	flags.StringVar(&s.mjs, "mjs", "", "the folder of the servers for Node.js, with their node_modules")
	flags.StringVar(&s.work, "work", "", "a folder for files; its contents are not removed")
	only := flags.String("only", "", "only servers whose name contains this")
	page := flags.String("page", "", "the Markdown file to write, unless -only leaves servers out")
	with := flags.String("with", "", "names and versions of what is played with, for that file")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	began := time.Now()
	results := play(ctx, &s, *only)
	if ctx.Err() != nil { // half a play would mislead
		fmt.Fprintln(stderr, "interrupted")
		return exitUsage
	}
	if len(results) == 0 {
		fmt.Fprintf(stderr, "no server is named %q\n", *only)
		return exitUsage
	}
	printTable(stdout, results)
	fmt.Fprintf(stdout, "\n%d servers in %.0f s\n", len(results), time.Since(began).Seconds())
	code := verdictOf(results)
	if *page != "" && *only == "" && code != exitMissing {
		if err := os.WriteFile(*page, []byte(markdown(results, *with)), 0o644); err != nil {
			fmt.Fprintln(stderr, err)
			return exitUsage
		}
	}
	return code
}

// result is what became of a server.
type result struct {
	server  *server
	missing error                // why it did not start
	cells   map[string][]outcome // by step, one for each column
}

// play plays the servers whose names contain only, some at a time.
func play(ctx context.Context, s *stage, only string) []result {
	var results []result
	for _, server := range servers() {
		if strings.Contains(server.name, only) {
			results = append(results, result{server: &server})
		}
	}
	var wait sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range results {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			results[i].play(ctx, s)
		})
	}
	wait.Wait()
	return results
}

// play starts the server and plays the columns one after another.
func (r *result) play(ctx context.Context, s *stage) {
	p, err := r.server.open(ctx, s)
	if err != nil {
		r.missing = err
		return
	}
	defer p.close()
	r.cells = map[string][]outcome{}
	for _, c := range columns() {
		for step, o := range p.playColumn(ctx, c) {
			r.cells[step] = append(r.cells[step], o)
		}
	}
}
