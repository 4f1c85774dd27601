// Package base has the checks of messages: requests, notifications, ids, errors,
// batches, their text, and many of them at once.
package base

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return engine.Join(
		requestScenarios(), textScenarios(), batchScenarios(), idScenarios(), notificationScenarios(), concurrencyScenarios(),
	)
}
