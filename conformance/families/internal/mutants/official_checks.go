package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// OfficialStatus is what a check of the official suite says.
type OfficialStatus string

// The statuses; what it calls SKIPPED and INFO says nothing.
const (
	OfficialPass    OfficialStatus = "SUCCESS"
	OfficialWarning OfficialStatus = "WARNING"
	OfficialFailure OfficialStatus = "FAILURE"
)

// OfficialVerdict is what the official suite says of one of its checks.
type OfficialVerdict struct {
	Status OfficialStatus
	// Complaint is why, where it is not content.
	Complaint string
}

// begun is a line of the suite's log; folder is where it leaves the checks of a
// scenario.
var (
	begun  = regexp.MustCompile(`(?m)^(?:\x1b\[[0-9;]*m)*=== Running scenario: (\S+) ===`)
	folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
)

// Checks runs every scenario of a revision and returns the worst that each check
// said, by scenario:check. A scenario that broke down and left no checks has
// failed as a whole, as scenario alone.
func (o Official) Checks(ctx context.Context, url string, revision mcp.Version) (map[string]OfficialVerdict, error) {
	dir, err := os.MkdirTemp("", "official")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of the system's
	//nolint:gosec // the caller's own suite
	log, runErr := exec.CommandContext(ctx, o.Node, o.Suite, "server", "--url", url, "--suite", "all", "--spec-version", string(revision), "-o", dir).CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !strings.Contains(string(log), "=== SUMMARY ===") { // runErr alone says that something failed
		return nil, errors.Join(errors.New("the official suite did not come to its end"), runErr)
	}
	all := map[string]OfficialVerdict{}
	left := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := folder.FindStringSubmatch(e.Name())
		if name == nil {
			return nil, fmt.Errorf("the official suite left %s, of no scenario", e.Name())
		}
		left[name[1]] = true
		if err := readOfficialChecks(filepath.Join(dir, e.Name(), "checks.json"), name[1], all); err != nil {
			return nil, err
		}
	}
	for _, name := range begun.FindAllStringSubmatch(string(log), -1) {
		if !left[name[1]] {
			all[name[1]] = OfficialVerdict{OfficialFailure, "the scenario broke down"}
		}
	}
	return all, nil
}

func readOfficialChecks(file, scenario string, all map[string]OfficialVerdict) error {
	data, err := os.ReadFile(file) //nolint:gosec // below a folder of ours
	if err != nil {
		return err
	}
	var checks []struct {
		ID           string         `json:"id"`
		Status       OfficialStatus `json:"status"`
		ErrorMessage string         `json:"errorMessage"`
	}
	if err := json.Unmarshal(data, &checks); err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	for _, c := range checks {
		name := scenario + ":" + c.ID
		if worse(c.Status, all[name].Status) {
			all[name] = OfficialVerdict{c.Status, c.ErrorMessage}
		}
	}
	return nil
}

// worse reports whether a is worse than b, or the first word there is.
func worse(a, b OfficialStatus) bool {
	rank := map[OfficialStatus]int{OfficialPass: 2, OfficialWarning: 3, OfficialFailure: 4}
	return b == "" || rank[a] > rank[b]
}
