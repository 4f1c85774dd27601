// Package utilities has the checks of ping, cancellation, progress and logging.
package utilities

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		utilityScenarios(), loggingScenarios(),
	)
}
