// Package tasks has the checks of tasks: those of revision 2025-11-25 and those of the
// extension.
package tasks

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		coreTaskScenarios(), taskResultScenarios(), extensionTaskScenarios(),
	)
}
