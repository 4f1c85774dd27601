// Package seen has the checks of every message of a run: its scenarios send nothing of
// their own and judge what was seen in all others.
package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		observedScenarios(), observedStatelessScenarios(), contentScenarios(), metaScenarios(),
	)
}
