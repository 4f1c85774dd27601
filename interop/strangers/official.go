package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// official is the official conformance suite, which speaks only HTTP.
type official struct{ node, suite string }

var errNoSummary = errors.New("the official suite printed no summary")

// scenario is a line of the suite's summary.
var scenario = regexp.MustCompile(`(?m)^(?:\x1b\[[0-9;]*m)*[✓✗~⚠] (?:\x1b\[[0-9;]*m)*([a-z0-9-]+): (\d+) passed, (\d+) failed(, \d+ warnings)?`)

// judgeOfficial runs all scenarios of the newest revision of each era on a server with a defect. A
// scenario that fails, warns or checks nothing did not pass.
func (p *place) judgeOfficial(ctx context.Context, d defect, name string) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	argv, dir := p.argv(d.server)
	url, stop, err := serve(ctx, argv, dir, append(os.Environ(), "DEFECT="+name))
	if err != nil {
		return nil, err
	}
	defer stop()
	var all outcome
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		revision := string(version)
		out, err := exec.CommandContext(ctx, p.official.node, p.official.suite, "server", "--url", url, "--suite", "all", "--spec-version", revision).CombinedOutput()
		_, summary, found := strings.Cut(string(out), "=== SUMMARY ===")
		if !found {
			return nil, fmt.Errorf("%w: %w", errNoSummary, errors.Join(err, ctx.Err()))
		}
		all.addScenarios(summary, revision)
	}
	if len(all.Checks) == 0 {
		return nil, errNoSummary
	}
	return &all, nil
}

// addScenarios adds what a summary has.
func (o *outcome) addScenarios(summary, revision string) {
	for _, line := range scenario.FindAllStringSubmatch(summary, -1) {
		c := check{ID: line[1], Revision: revision, Status: "fail"}
		if line[2] != "0" && line[3] == "0" && line[4] == "" {
			c.Status = "pass"
		}
		o.Checks = append(o.Checks, c)
	}
}
