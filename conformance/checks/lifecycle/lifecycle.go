// Package lifecycle has the checks of how a conversation begins: the handshake, the
// negotiation of the revision and the capabilities.
package lifecycle

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		lifecycleScenarios(), versionScenarios(), gateScenarios(), capabilityScenarios(),
	)
}
