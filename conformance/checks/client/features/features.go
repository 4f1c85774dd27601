// Package features judges what a client does beside tools: prompts, completion, log levels,
// subscriptions, and the requests of a server.
package features

import (
	_ "embed" // the file below

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

//go:embed scripts.txt
var scripts string

// Scenarios returns the scenarios of the area features, and those of subscriptions in the
// stateless era.
func Scenarios() []trial.Scenario {
	return trial.Join(trial.Scripts(scripts), requests(), refusals(), subscriptions(), []trial.Scenario{
		{ID: "C-LOG-STAMP", Play: playLogStamp},
	})
}
