// Package stateless has the checks of the era without sessions: discovery, headers,
// subscriptions, caching, and results that ask for input.
package stateless

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		statelessDiscoverScenarios(), statelessHeaderScenarios(), statelessParamScenarios(), statelessHTTPScenarios(),
		statelessSubscriptionScenarios(), statelessStateScenarios(), statelessInputScenarios(),
	)
}
