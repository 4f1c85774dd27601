package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
)

// contentScenarios judge the content of every result of a run.
func contentScenarios() []conformance.Scenario {
	return []conformance.Scenario{{ID: "SEEN-CONTENT", Last: true, Run: runSeen}}
}

// metaScenarios judge each _meta of a run.
func metaScenarios() []conformance.Scenario {
	return []conformance.Scenario{{ID: "SEEN-META", Last: true, Run: runSeen}}
}
