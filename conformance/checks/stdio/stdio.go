// Package stdio has the checks of servers that are programs: their lines, what they
// print, and how they end.
package stdio

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		shutdownScenarios(), stdioScenarios(), framingScenarios(),
	)
}
