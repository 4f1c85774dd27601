// Command agreement runs the suite of this project and the official one on the
// same servers and compares what they say of the rules both judge
// (conformance.OfficialScenarios). scripts/agreement.sh starts the servers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func main() {
	var suite mutants.Official
	var out string
	flag.StringVar(&suite.Node, "node", "node", "Node")
	flag.StringVar(&suite.Suite, "suite", "", "the entry file of the official suite")
	flag.StringVar(&out, "out", "", "write the document here")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "agreement [flags] NAME REVISION URL [NAME REVISION URL …]")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	runs, err := compareAll(ctx, suite, flag.Args())
	stop()
	if err == nil && out != "" {
		err = os.WriteFile(out, []byte(document(runs)), 0o644) //nolint:gosec // a document
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agreement:", err)
		os.Exit(2)
	}
	if open := summary(os.Stdout, runs); open > 0 {
		os.Exit(1)
	}
}

// compareAll compares both suites on servers given as name, revision, URL.
func compareAll(ctx context.Context, suite mutants.Official, args []string) ([]comparison, error) {
	if len(args) == 0 || len(args)%3 != 0 {
		return nil, fmt.Errorf("servers are given as NAME REVISION URL, not %d arguments", len(args))
	}
	var runs []comparison
	for subject := range slices.Chunk(args, 3) {
		c := comparison{server: subject[0], revision: mcp.Version(subject[1])}
		if !c.revision.Known() {
			return nil, fmt.Errorf("%q is no revision", c.revision)
		}
		report, err := familychecks.Run(ctx, conformance.URL(subject[2], nil), conformance.Options{
			Revisions: []mcp.Version{c.revision}, SideEffects: conformance.SideEffectsAll, Only: beside(),
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.server, err)
		}
		official, err := suite.Checks(ctx, subject[2], c.revision)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.server, err)
		}
		c.rows = compare(report.Results, official)
		runs = append(runs, c)
	}
	return runs, nil
}

// beside are the checks of ours that stand beside one of the official suite: the
// others would send what that suite does not, and take a minute.
func beside() []string {
	var ids []string
	for _, s := range engine.OfficialScenarios() {
		for _, c := range s.Checks {
			ids = append(ids, c.Ours...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
