// Package base has the checks of messages: requests, notifications, ids, errors,
// batches, their text, and many of them at once.
package base

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	return slices.Concat(
		requestScenarios(), textScenarios(), batchScenarios(), idScenarios(), notificationScenarios(), concurrencyScenarios(),
	)
}
