// Command interop puts our client before servers that others wrote, and prints
// which feature works with which of them: a row a feature, a column a server, a
// transport and an era. Exit 0: every cell is ok, or the server cannot do it and
// peers.go says why; 1: something failed; 2: the matrix could not be made.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("interop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var where places
	flags.StringVar(&where.gosdk, "gosdk", "", "the program gosdk")
	flags.StringVar(&where.mcpgo, "mcpgo", "", "the program mcpgo")
	flags.StringVar(&where.refserver, "refserver", "", "our reference server")
	flags.StringVar(&where.everything, "everything", "", "the program mcp-server-everything; empty leaves its columns out")
	only := flags.String("only", "", "only columns whose name contains this")
	if flags.Parse(args) != nil {
		return 2
	}
	began := time.Now()
	var filled []column
	for _, p := range peers(where) {
		columns, err := play(ctx, &p, *only)
		if err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", p.name, err)
			return 2
		}
		filled = append(filled, columns...)
	}
	failed := printMatrix(stdout, filled)
	fmt.Fprintf(stdout, "\n%d columns in %.1f s\n", len(filled), time.Since(began).Seconds())
	if failed > 0 || len(filled) == 0 {
		return 1
	}
	return 0
}

// play fills the columns of one peer whose names contain only.
func play(ctx context.Context, p *peer, only string) ([]column, error) {
	var columns []column
	for _, way := range p.ways {
		for i, era := range p.eras {
			c := column{peer: p, way: way, era: era, newest: i == len(p.eras)-1 || way != stdio && p.path[era] != p.path[p.eras[i+1]]}
			if strings.Contains(c.name(), only) {
				columns = append(columns, c)
			}
		}
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.way != stdio }) {
		stop, err := p.serve(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	for i := range columns {
		columns[i].fill(ctx)
	}
	return columns, nil
}
