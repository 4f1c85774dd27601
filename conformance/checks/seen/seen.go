// Package seen has the checks of every message of a run: its scenarios send nothing of
// their own and judge what was seen in all others.
package seen

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return slices.Concat(
		observedScenarios(), observedStatelessScenarios(), contentScenarios(), metaScenarios(),
	)
}
