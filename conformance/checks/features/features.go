// Package features has the checks of what a server offers and asks for: tools,
// resources, prompts, completion, lists, and the features of the client.
package features

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		toolListScenarios(), dialectScenarios(), toolArgumentScenarios(), resourceScenarios(), promptScenarios(), paginationScenarios(), fixtureScenarios(), clientFeatureScenarios(),
	)
}
