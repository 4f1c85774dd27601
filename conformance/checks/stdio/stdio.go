// Package stdio has the checks of servers that are programs: their lines, what they
// print, and how they end.
package stdio

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []conformance.Scenario {
	return slices.Concat(
		rule.SessionEra(shutdownScenarios()), stdioScenarios(), framingScenarios(),
	)
}
