// Command hosts puts mcpctl proxy between hosts that others wrote and servers, and prints
// what works: a row for each host, front and server, a column for each step. A host is a
// program with a client of an SDK in it, which carries out the orders of this one (package
// orders). The front is how the host reaches the proxy: as its command (stdio), or by URL
// (HTTP); rows without the proxy are the control. Exit 0: nothing failed that works without
// the proxy; 1: something did; 2: wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// places are where the programs are.
type places struct {
	bin, node, modules, work string

	patient bool // on a machine that may be busy: what has to end soon may take longer
}

// leftTime is how long something may live on after the end of the host.
func (p *places) leftTime() time.Duration {
	if p.patient {
		return 4 * leftTime
	}
	return leftTime
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("hosts", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var where places
	flags.StringVar(&where.bin, "bin", "", "a folder with mcpctl, refserver and the hosts gosdk and mcpgo")
	flags.StringVar(&where.node, "node", "node", "Node.js")
	flags.StringVar(&where.modules, "modules", "", "a folder with the hosts in JavaScript and their node_modules")
	flags.StringVar(&where.work, "work", "", "a folder for logs")
	only := flags.String("only", "", "only rows whose name contains this, and their controls")
	short := flags.Bool("short", false, "one server for each host, on a machine that may be busy")
	page := flags.String("page", "", "the Markdown file to write, unless -only or -short leaves rows out")
	with := flags.String("with", "", "what the rows are played with, for the page")
	if flags.Parse(args) != nil {
		return 2
	}
	where.patient = *short
	began := time.Now()
	var rows []*row
	for i, h := range hosts(where) {
		all := servers(where)
		if *short {
			all = all[i%len(all):][:1] // in turns
		}
		for _, s := range all {
			rows = append(rows, play(ctx, where, h, s, *only)...)
		}
	}
	if len(rows) == 0 {
		fmt.Fprintf(stderr, "no row is named %q\n", *only)
		return 2
	}
	bad := printTable(stdout, rows)
	fmt.Fprintf(stdout, "\n%d rows in %.0f s\n", len(rows), time.Since(began).Seconds())
	if bad > 0 || ctx.Err() != nil {
		return 1
	}
	if *page != "" && *only == "" && !*short {
		if err := os.WriteFile(*page, []byte(markdown(rows, *with)), 0o644); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
	}
	return 0
}

// play plays a host and a server without the proxy, for comparison, and then with it, through
// each front.
func play(ctx context.Context, where places, h host, s server, only string) []*row {
	var rows []*row
	control := &row{where: where, host: h, server: s, front: direct}
	for _, front := range []string{stdio, overHTTP} {
		r := &row{where: where, host: h, server: s, front: front, control: control}
		if !strings.Contains(r.name(), only) {
			continue
		}
		if len(rows) == 0 {
			control.play(ctx)
			rows = append(rows, control)
		}
		r.play(ctx)
		rows = append(rows, r)
	}
	return rows
}
