// Package utilities has the checks of ping, cancellation, progress and logging.
package utilities

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return slices.Concat(
		utilityScenarios(), loggingScenarios(),
	)
}
