// Command agreement runs the suite of this project and the official one on the
// same servers and compares what they say of the rules both look at
// (conformance.Check.Official). scripts/agreement.sh starts the servers.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/servermutants"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func main() {
	var suite servermutants.Official
	var out string
	flag.StringVar(&suite.Node, "node", "node", "Node")
	flag.StringVar(&suite.Suite, "suite", "", "the entry file of the official suite")
	flag.StringVar(&out, "out", "", "write the document here; empty: on standard output")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "agreement [flags] NAME REVISION URL [NAME REVISION URL …]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	text, unexplained, err := compareAll(ctx, suite, flag.Args())
	stop()
	if err == nil && out != "" {
		err = os.WriteFile(out, []byte(text), 0o644) //nolint:gosec // a document
	} else if err == nil {
		_, _ = io.WriteString(os.Stdout, text) // who reads it has gone
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agreement:", err)
		os.Exit(2)
	}
	if unexplained > 0 {
		fmt.Fprintf(os.Stderr, "agreement: %d differences without an explanation\n", unexplained)
		os.Exit(1)
	}
}

// compareAll compares both suites on servers given as name, revision, URL.
func compareAll(ctx context.Context, suite servermutants.Official, args []string) (string, int, error) {
	if len(args) == 0 || len(args)%3 != 0 {
		return "", 0, fmt.Errorf("servers are given as NAME REVISION URL, not %d arguments", len(args))
	}
	var runs []comparison
	for subject := range slices.Chunk(args, 3) {
		c := comparison{server: subject[0], revision: mcp.Version(subject[1])}
		if !c.revision.Known() {
			return "", 0, fmt.Errorf("%q is no revision", c.revision)
		}
		report, err := conformance.Run(ctx, conformance.URL(subject[2], nil), conformance.Options{
			Revisions: []mcp.Version{c.revision}, SideEffects: conformance.SideEffectsAll,
		})
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w", c.server, err)
		}
		passed, err := suite.Scenarios(ctx, subject[2], c.revision)
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w", c.server, err)
		}
		c.rows = compare(report.Results, passed)
		runs = append(runs, c)
	}
	text, unexplained := document(runs)
	return text, unexplained, nil
}

// comparison is both suites on one server in one revision.
type comparison struct {
	server   string
	revision mcp.Version
	rows     []row
}

// row is what both say of one scenario of the official suite.
type row struct {
	scenario string
	official bool
	// checks are ours that look at the same rules and decided something; broken
	// are those of them that did not hold.
	checks int
	broken []string
}

// agree reports whether both say the same; a scenario that no check of ours
// decided is no agreement.
func (r row) agree() bool { return r.checks > 0 && r.official == (len(r.broken) == 0) }

// compare puts the outcomes of our checks beside the scenarios they name.
func compare(results []conformance.Result, passed map[string]bool) []row {
	var rows []row
	for name, ok := range passed {
		r := row{scenario: name, official: ok}
		for _, res := range results {
			if !slices.Contains(res.Official, name) {
				continue
			}
			switch res.Status {
			case conformance.Fail, conformance.Warn:
				r.broken = append(r.broken, res.ID)
				r.checks++
			case conformance.Pass:
				r.checks++
			case conformance.Skip, conformance.Unknown, conformance.Error:
			}
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.scenario, b.scenario) })
	return rows
}

func (r row) ours() string {
	switch {
	case r.checks == 0:
		return "not judged"
	case len(r.broken) == 0:
		return fmt.Sprintf("pass (%d)", r.checks)
	}
	return "fail: `" + strings.Join(r.broken, "`, `") + "`"
}
