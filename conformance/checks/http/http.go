// Package http has the checks of the HTTP transports: Streamable HTTP, the older
// HTTP+SSE, and authorization.
package http

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		httpScenarios(), httpRequestScenarios(), httpGuardScenarios(), httpStreamScenarios(), httpSessionScenarios(), sseScenarios(), authorizationScenarios(),
	)
}
