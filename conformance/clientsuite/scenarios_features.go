package clientsuite

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

const features = "features"

// featureScenarios are what the client does for the server, in the session era.
func featureScenarios() []scenario {
	answer := spec("client/elicitation#response-actions", "Elicitation responses use a three-action model to clearly distinguish between different user actions")
	return []scenario{
		{
			id: "C-ELICIT", area: features, title: "the server asks the user for input", since: mcp.Version2025_06_18, until: mcp.LatestSession,
			checks: []check{
				must("C-ELIC-02/action", "the answer has an action of the three", answer),
				must("C-ELIC-02/content", "accepted content is an object that fits the schema", spec("client/elicitation#security-considerations", "Clients SHOULD validate all responses against the provided schema")),
				should("C-ELIC-04/defaults", "defaults of the schema are filled in", spec("client/elicitation#requested-schema", "Clients that support defaults SHOULD pre-populate form fields with these values.")).
					from(mcp.Version2025_11_25).official("elicitation-sep1034-client-defaults"),
			},
			play: func(t *trial) {
				t.answers.Elicit = json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask(`"e"`, mcp.MethodElicitationCreate, `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer","default":7}},"required":["name"]}}`)
					x.good()
				})
				t.do(call("echo", `{"text":"asked"}`))
				got := t.feature("elicitation", `"e"`)
				if got == nil {
					return
				}
				result := got.members["result"]
				action := text(at(result, "action"))
				t.check("C-ELIC-02/action", action == "accept" || action == "decline" || action == "cancel", "accept, decline or cancel", "%s", got.data)
				if !t.needs(action == "accept", "the client did not accept") {
					return
				}
				size := at(result, "content", "size")
				t.check("C-ELIC-02/content", isString(at(result, "content", "name")) && (size == nil || isInteger(string(size))), `{"name":string,"size":integer}`, "%s", result)
				t.check("C-ELIC-04/defaults", string(size) == "7", `"size":7`, "%s", result)
			},
		},
		{
			id: "C-ELICIT-DECLINE", area: features, title: "the user declines", since: mcp.Version2025_06_18, until: mcp.LatestSession,
			checks: []check{must("C-ELIC-02/declined", "a refusal has no content", spec("client/elicitation#response-actions", "The content field is typically omitted"))},
			play: func(t *trial) {
				t.answers.Elicit = json.RawMessage(`{"action":"decline"}`)
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask(`"e"`, mcp.MethodElicitationCreate, `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`)
					x.good()
				})
				t.do(call("echo", `{"text":"asked"}`))
				if got := t.feature("elicitation", `"e"`); got != nil {
					result := got.members["result"]
					t.check("C-ELIC-02/declined", text(at(result, "action")) == "decline" && at(result, "content") == nil, `{"action":"decline"}`, "%s", got.data)
				}
			},
		},
		{
			id: "C-ROOTS", area: features, title: "the server asks for the roots", until: mcp.LatestSession,
			checks: []check{must("C-ROOT-01/list", "roots/list is answered with file URIs", spec("client/roots#root", "uri: Unique identifier for the root. This MUST be a file:// URI in the current specification."))},
			play: func(t *trial) {
				t.answers.Roots = []string{"file:///srv/a", "file:///srv/b"}
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask(`"r"`, mcp.MethodRootsList, `{}`)
					x.good()
				})
				t.do(call("echo", `{"text":"asked"}`))
				got := t.feature("roots", `"r"`)
				if got == nil {
					return
				}
				var result struct{ Roots []struct{ URI string } }
				ok := json.Unmarshal(got.members["result"], &result) == nil && result.Roots != nil
				for _, r := range result.Roots {
					ok = ok && strings.HasPrefix(r.URI, "file://")
				}
				t.check("C-ROOT-01/list", ok, "roots with file URIs", "%s", got.data)
			},
		},
		{
			id: "C-SAMPLE", area: features, title: "the server asks for a completion of the model", until: mcp.LatestSession,
			checks: []check{must("C-SAMP-01/result", "the answer has role, content and model", spec("client/sampling#creating-messages", "To request a language model generation, servers send a sampling/createMessage request"))},
			play: func(t *trial) {
				t.answers.Sample = json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"none","stopReason":"endTurn"}`)
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.ask(`"s"`, mcp.MethodSamplingCreateMessage, `{"messages":[{"role":"user","content":{"type":"text","text":"Capital of France?"}}],"maxTokens":10}`)
					x.good()
				})
				t.do(call("echo", `{"text":"asked"}`))
				if got := t.feature("sampling", `"s"`); got != nil {
					result := got.members["result"]
					t.check("C-SAMP-01/result", isString(at(result, "role")) && isString(at(result, "model")) && at(result, "content") != nil, "role, content and model", "%s", got.data)
				}
			},
		},
	}
}

// feature is the client's answer to the server's request of that id. Without the
// capability all checks are skipped and it is nil; without an answer they fail.
func (t *trial) feature(capability, id string) *message {
	if !t.asked(capability) {
		return nil
	}
	got := t.answersTo(id)
	if len(got) == 0 || got[0].members["result"] == nil {
		t.check(t.scenario.checks[0].ID, false, "a result", "%s", contents(got))
		return nil
	}
	return got[0]
}
