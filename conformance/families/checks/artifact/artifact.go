// Package artifact has the checks of the artifact family: its six tools, the services
// they stand on, and what they write.
package artifact

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	return engine.Join(
		validateScenarios(), validateWireScenarios(), validateChecklistScenarios(), storeScenarios(), storeFileScenarios(),
		approveScenarios(), approveRefusalScenarios(), approveServiceScenarios(), addTaskScenarios(), addTaskServiceScenarios(),
		artifactIDScenarios(), taskServiceScenarios(), idServiceScenarios(), artifactLogScenarios(), crossScenarios(),
	)
}
