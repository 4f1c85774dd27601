package clientsuite

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// undeclaredScenarios are requests to a server that did not declare what they
// are about.
func undeclaredScenarios() []scenario {
	negotiated := spec("basic/lifecycle#operation", "Both parties MUST: Respect the negotiated protocol version, Only use capabilities that were successfully negotiated")
	return []scenario{{
		id: "C-UNDECLARED", area: lifecycle, title: "the server declares tools alone", since: mcp.Version2025_06_18, until: mcp.LatestSession,
		checks: []check{
			must("C-LC-11/resources", "no resources are asked for", negotiated),
			must("C-LC-11/prompts", "no prompts are asked for", negotiated),
			must("C-LC-11/completions", "no completion is asked for", negotiated),
			must("C-LC-11/logging", "no log level is set", negotiated),
		},
		play: func(t *trial) {
			t.peer.capabilities = `{"tools":{}}`
			t.do(
				Step{Call: mcp.MethodResourcesList}, Step{Call: mcp.MethodPromptsList},
				Step{Call: mcp.MethodCompletionComplete, Params: json.RawMessage(`{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`)},
				Step{Call: mcp.MethodLoggingSetLevel, Params: json.RawMessage(`{"level":"warning"}`)},
			)
			if !t.needs(len(t.sent(mcp.MethodInitialized)) > 0, "no session was opened") {
				return
			}
			for i, id := range []string{"C-LC-11/resources", "C-LC-11/prompts", "C-LC-11/completions", "C-LC-11/logging"} {
				t.unsent(id, i)
			}
		},
	}, {
		id: "C-UNDECLARED-SUBSCRIBE", area: features, title: "the server has resources, and no subscriptions to them", since: mcp.Version2025_06_18, until: mcp.LatestSession,
		checks: []check{must("C-RES-04/undeclared", "none is subscribed to", negotiated)},
		play: func(t *trial) {
			t.do(Step{Call: mcp.MethodResourcesSubscribe, URI: "mem://one", ForMs: 100})
			if t.needs(len(t.sent(mcp.MethodInitialized)) > 0, "no session was opened") {
				t.unsent("C-RES-04/undeclared", 0)
			}
		},
	}}
}

// unsent decides a check by the ith step, which must end without its request and
// without a result.
func (t *trial) unsent(id string, i int) {
	method := t.task.Steps[i+1].Call
	if sent := t.sent(method); len(sent) > 0 {
		t.check(id, false, "no "+method, "%s", contents(sent))
		return
	}
	t.told(id, i, func(l Line) bool { return l.Outcome == OutcomeError }, "an error")
}
