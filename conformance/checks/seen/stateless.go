package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// observedStatelessScenarios judge every message of a leg without sessions.
func observedStatelessScenarios() []conformance.Scenario {
	const codes = "basic#error-codes"
	return []conformance.Scenario{{
		ID: "SEEN-STATELESS", Area: "base", Title: "every message of a stateless server", Since: mcp.Version2026_07_28, Last: true, Run: runSeen,
		Checks: []conformance.Check{
			{ID: observe.SeenNoRequests, Title: "the server sends no requests", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/patterns#server-to-client-interactions", Quote: "Servers MUST NOT initiate JSON-RPC requests, and clients do not send JSON-RPC responses."}},
			{ID: observe.SeenResultType, Title: "every result has a resultType that the client knows", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#result-responses", Quote: "The result MUST include a resultType field to indicate the type of the result."}},
			{ID: observe.SeenIdentity, Title: "every result names the server in _meta", Level: conformance.Should, Spec: conformance.Spec{Section: "basic#meta", Quote: "Servers SHOULD include the following io.modelcontextprotocol/* field in every result's _meta, unless specifically configured not to do so"}},
			{ID: observe.SeenAskers, Title: "only tools/call, prompts/get and resources/read are answered with input_required", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/patterns/mrtr#supported-requests", Quote: "Servers MUST NOT send InputRequiredResult responses on any other client requests."}},
			{ID: observe.SeenReserved, Title: "no error has a reserved code that the specification does not define", Level: conformance.Must, Spec: conformance.Spec{Section: codes, Quote: "Implementations MUST NOT emit any code from this sub-range that is not defined by this specification"}},
			{ID: observe.SeenRetired, Title: "no error has a code of an earlier revision, -32002 or -32042", Level: conformance.Must, Spec: conformance.Spec{Section: codes, Quote: "Implementations of this protocol version MUST NOT emit these codes"}},
		},
	}}
}

// runSeen decides what was seen; what no message gave an occasion for does not
// apply.
func runSeen(t *conformance.Trial) error {
	for _, c := range t.Scenario.Checks {
		if looked, _ := t.Rev.Seen.Outcome(c.ID); looked == 0 {
			t.Skip(c.ID, conformance.SkipNotDeclared, "no message gave an occasion")
		}
	}
	return Judge(t)
}
