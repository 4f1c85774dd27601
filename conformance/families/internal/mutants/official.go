package mutants

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Official runs the official conformance suite.
type Official struct {
	// Node and Suite are the program and the suite's entry file.
	Node, Suite string
}

// scenario is a line of the suite's summary.
var scenario = regexp.MustCompile(`(?m)^(?:\x1b\[[0-9;]*m)*([✓✗~⚠]) (?:\x1b\[[0-9;]*m)*([a-z0-9-]+): (\d+) passed, (\d+) failed(, \d+ warnings)?`)

// Scenarios runs every scenario of a revision and reports which passed: made a
// check that succeeded, and none that failed or warned.
func (o Official) Scenarios(ctx context.Context, url string, revision mcp.Version) (map[string]bool, error) {
	//nolint:gosec // the caller's own suite
	out, err := exec.CommandContext(ctx, o.Node, o.Suite, "server", "--url", url, "--suite", "all", "--spec-version", string(revision)).CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	passed := map[string]bool{}
	_, summary, found := strings.Cut(string(out), "=== SUMMARY ===")
	for _, line := range scenario.FindAllStringSubmatch(summary, -1) {
		passed[line[2]] = line[3] != "0" && line[4] == "0" && line[5] == ""
	}
	if !found || len(passed) == 0 {
		return nil, errors.Join(errors.New("the official suite printed no summary"), err)
	}
	return passed, nil
}

// Noticed returns the scenarios that pass without a defect and do not with it.
func Noticed(clean, mutated map[string]bool) []string {
	var out []string
	for name, ok := range clean {
		if ok && !mutated[name] {
			out = append(out, name)
		}
	}
	return out
}
