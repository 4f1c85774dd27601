package rule

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SessionEra bounds scenarios that speak of sessions to the revisions that have
// them.
func SessionEra(lists ...[]conformance.Scenario) []conformance.Scenario {
	all := slices.Concat(lists...)
	for i := range all {
		if all[i].Until == "" {
			all[i].Until = mcp.LatestSession
		}
	}
	return all
}
