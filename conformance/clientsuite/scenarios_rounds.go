package clientsuite

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// state is a request state that a client that looks into it, or writes it anew,
// gets wrong.
const state = "eyJ4IjoxfQ== \u2028<&>\"\\ ä\t1e400 {\"a\": 1.0}"

// wants answers with input_required; requests is an object or empty, state a text
// or empty.
func (x *exchange) wants(requests, state string) {
	out := `{"resultType":"input_required"`
	if requests != "" {
		out += `,"inputRequests":` + requests
	}
	if state != "" {
		out += `,"requestState":` + quote(state)
	}
	x.bare(out + "}")
}

// roundScenarios are multi round-trip requests.
func roundScenarios() []scenario {
	rule := func(quote string) conformance.Spec {
		return spec("basic/patterns/mrtr#client-requirements-basic-workflow", quote)
	}
	echo := rule("If an InputRequiredResult contains the requestState field, the client MUST echo back the exact value of that field when retrying the original request.")
	fulfil := rule("If a client receives an InputRequiredResult that contains the inputRequests field, the client MUST construct the requested")
	newID := rule("The JSON-RPC id MUST be different between the initial request and the retry, as they are independent requests.")
	only := rule("They MUST NOT be used for any other request that the client may be sending in parallel.")
	const question = `{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}`
	all := []scenario{
		{
			id: "C-STATE", area: stateless, title: "a call is to be sent again with a state",
			checks: []check{
				must("C-MRTR-04/state", "requestState comes back to the character", echo).official("sep-2322-client-request-state"),
				must("C-MRTR-04/params", "name and arguments are the same", rule("when retrying the original request")),
				must("C-MRTR-05/new-id", "the id is another", newID).official("sep-2322-client-request-state"),
				must("C-MRTR-06/leak", "no other call has the state", only).official("sep-2322-client-request-state"),
				must("C-MRTR-04/result", "the caller gets the final result", echo),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if text(x.param("name")) == "echo" && x.param("requestState") == nil && x.peer.next() == 1 {
						x.wants("", state)
						return
					}
					x.good()
				})
				t.do(call("echo", `{"text":"final","n":1}`), call("write", `{"text":"x"}`))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				t.told("C-MRTR-04/result", 0, says("n 1"), wantsText("n 1"))
				if len(calls) == 1 {
					t.check("C-MRTR-04/state", false, "tools/call again", "nothing")
					return
				}
				first, again := calls[0], calls[1]
				t.check("C-MRTR-04/state", text(again.param("requestState")) == state, quote(state), "%s", again.param("requestState"))
				same := text(at(again.param("arguments"), "text")) == "final" && string(at(again.param("arguments"), "n")) == "1"
				t.check("C-MRTR-04/params", same, string(first.param("arguments")), "%s", again.param("arguments"))
				t.check("C-MRTR-05/new-id", again.id() != first.id(), "another id", "%s", again.id())
				if others := t.calls("write"); t.needs(len(others) > 0, "write was not called") {
					clean := others[0].param("requestState") == nil && others[0].param("inputResponses") == nil
					t.check("C-MRTR-06/leak", clean, "neither requestState nor inputResponses", "%s", others[0].data)
				}
			},
		},
		{
			id: "C-QUESTION", area: stateless, title: "a call is to be sent again with answers of the user, without a state",
			checks: []check{
				must("C-MRTR-04/keys", "inputResponses have the keys of the requests and no others", fulfil),
				must("C-MRTR-04/bare", "an answer is the bare result", fulfil),
				must("C-MRTR-04/no-state", "no requestState is sent where none was given", rule("If the InputRequiredResult does not contain a requestState field, the client MUST NOT include one in the retry.")).official("sep-2322-client-request-state"),
				must("C-MRTR-04/answered", "the caller gets the final result", fulfil),
			},
			play: func(t *trial) {
				t.answers.Elicit = json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if x.param("inputResponses") == nil && t.declaresNow(x, "elicitation") && x.peer.next() == 1 {
						x.wants(question, "")
						return
					}
					x.good()
				})
				t.do(call("echo", `{"text":"hello Ada"}`))
				if !t.asked("elicitation") {
					return
				}
				calls := t.calls("echo")
				t.told("C-MRTR-04/answered", 0, says("hello Ada"), wantsText("hello Ada"))
				if len(calls) == 1 {
					t.check("C-MRTR-04/keys", false, "tools/call again", "nothing")
					return
				}
				again := calls[1]
				responses := members(again.param("inputResponses"))
				t.check("C-MRTR-04/keys", len(responses) == 1 && responses["who"] != nil, `inputResponses {"who":…}`, "%s", orNull(again.param("inputResponses")))
				answer := members(responses["who"])
				bare := isString(answer["action"]) && answer["jsonrpc"] == nil && answer["result"] == nil && answer["resultType"] == nil
				t.check("C-MRTR-04/bare", bare, `{"action":…}`, "%s", orNull(responses["who"]))
				t.check("C-MRTR-04/no-state", again.param("requestState") == nil, "no requestState", "%s", again.param("requestState"))
			},
		},
		{
			id: "C-QUESTION-UNDECLARED", area: stateless, title: "a call is answered with a request that the client did not offer to do",
			checks: []check{
				must("C-MRTR-03/undeclared", "it is not sent again as if it had been done", fulfil),
				must("C-MRTR-03/told", "the caller is told", fulfil),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.wants(`{"m":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":3}}}`, "s")
				})
				t.do(call("echo", `{}`))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				if t.declares("sampling") {
					t.skip("C-MRTR-03/undeclared", conformance.SkipNotDeclared, "the client declares sampling")
					t.skip("C-MRTR-03/told", conformance.SkipNotDeclared, "the client declares sampling")
					return
				}
				t.check("C-MRTR-03/undeclared", len(calls) == 1, "no second tools/call", "%s", contents(calls[1:]))
				t.told("C-MRTR-03/told", 0, Line.failed, "an error")
			},
		},
		{
			id: "C-ROUNDS-ENDLESS", area: stateless, title: "a call is to be sent again for ever",
			checks: []check{
				advised("C-MRTR-08/cap", "the client gives up", row("MRTR-08")),
				advised("C-MRTR-08/told", "the caller is told", row("MRTR-08")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) { x.wants("", fmt.Sprint("round ", x.peer.next())) })
				t.do(call("echo", `{}`).within(5 * time.Second))
				if n := len(t.calls("echo")); t.needs(n > 0, "echo was not called") {
					t.check("C-MRTR-08/cap", n <= roundLimit, fmt.Sprintf("at most %d requests", roundLimit), "%d", n)
					t.told("C-MRTR-08/told", 0, Line.failed, "an error")
				}
			},
		},
		{
			id: "C-ROUNDS-WRONG", area: stateless, title: "a list is answered with input_required",
			checks: []check{
				must("C-MRTR-01/list", "it is not sent again with the state", spec("basic/patterns/mrtr#supported-requests", "Servers MAY send an InputRequiredResult in response to: prompts/get, resources/read, tools/call")),
				must("C-MRTR-01/told", "the caller is told that there is no list", spec("basic/patterns/mrtr#supported-requests", "Servers MAY send an InputRequiredResult in response to: prompts/get, resources/read, tools/call")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsList, func(x *exchange) { x.wants("", "s") })
				t.do(listTools())
				sent := t.sent(mcp.MethodToolsList)
				if t.needs(len(sent) > 0, "tools/list was not sent") {
					again := slices.ContainsFunc(sent, func(m *message) bool { return m.param("requestState") != nil })
					t.check("C-MRTR-01/list", !again, "no tools/list with a requestState", "%s", contents(sent))
					t.told("C-MRTR-01/told", 0, Line.failed, "an error")
				}
			},
		},
	}
	for i := range all {
		all[i].since = mcp.Version2026_07_28
	}
	return all
}

// roundLimit is how many rounds are more than any use of them.
const roundLimit = 40

// declaresNow reports whether the request states the capability.
func (*trial) declaresNow(x *exchange, name string) bool {
	return members(x.param("_meta", mcp.MetaClientCapabilities))[name] != nil
}

// asked reports whether the client declared the capability, so that it was
// asked; else all checks are skipped.
func (t *trial) asked(capability string) bool {
	if !t.needs(len(t.sent(mcp.MethodToolsCall)) > 0, "echo was not called") {
		return false
	}
	if t.declares(capability) {
		return true
	}
	for _, c := range t.scenario.checks {
		t.skip(c.ID, conformance.SkipNotDeclared, "the client does not declare "+capability)
	}
	return false
}
