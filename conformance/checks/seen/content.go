package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// contentScenarios judge the content of every result of a run.
func contentScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "SEEN-CONTENT", Gentle: true, Last: true, Run: runSeen}}
}

// metaScenarios judge each _meta of a run.
func metaScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "SEEN-META", Gentle: true, Last: true, Run: runSeen}}
}
