package engine

import (
	"embed"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

//go:embed requirements/*.txt
var requirementFiles embed.FS

// Requirements returns the ids of the checks that score for a revision, sorted. The set is
// frozen: a check that is written later runs and does not score, so that a verdict means
// the same in every version of the suite. The error names the sets.
func Requirements(revision mcp.Version) ([]string, error) {
	text, err := requirementFiles.ReadFile("requirements/" + string(revision) + ".txt")
	if err != nil {
		return nil, fmt.Errorf("no frozen requirements for %q: there are %s to %s", revision, mcp.Versions()[0], mcp.Latest)
	}
	return strings.Fields(string(text)), nil
}
