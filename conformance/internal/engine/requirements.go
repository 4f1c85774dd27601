package engine

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// requirements are the frozen sets of all revisions, an id a line. A line with # names the
// revisions of the ids below it.
//
//go:embed requirements.txt
var requirements string

// Requirements returns the ids of the checks that score for a revision, sorted. The set is
// frozen: a check that is written later runs and does not score, so that a verdict means
// the same in every version of the suite. The error names the sets.
func Requirements(revision mcp.Version) ([]string, error) {
	var ids []string
	within := false
	for line := range strings.Lines(requirements) {
		line = strings.TrimSpace(line)
		if revisions, isHead := strings.CutPrefix(line, "#"); isHead {
			within = slices.Contains(strings.Fields(revisions), string(revision))
		} else if within {
			ids = append(ids, line)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no frozen requirements for %q: there are %s to %s", revision, mcp.Versions()[0], mcp.Latest)
	}
	slices.Sort(ids)
	return ids, nil
}
