package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// observedStatelessScenarios judge every message of a revision run without sessions.
func observedStatelessScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "SEEN-STATELESS", Gentle: true, Last: true, Run: runSeen}}
}

// runSeen decides what was seen; what no message gave an occasion for does not
// apply.
func runSeen(t *engine.Trial) {
	for _, c := range t.Scenario.Checks {
		if looked, _ := t.Rev.Seen.Outcome(c.ID); looked == 0 {
			t.Skip(c.ID, conformance.SkipNotDeclared, "no message gave an occasion")
		}
	}
	Judge(t)
}
