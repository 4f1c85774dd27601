package conformance

import "github.com/mainstay-mcp/mainstay/conformance/wire"

// SeenPrefix begins the ids of the scenarios that send nothing of their own and
// judge what was seen in all others: they say nothing when they run alone.
const SeenPrefix = "SEEN-"

// observedScenarios judge every message the subject sent in the whole run.
func observedScenarios() []Scenario {
	rpc := func(quote string) Spec { return Spec{Section: "basic#messages", Quote: quote} }
	all := "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."
	schema := Spec{Section: "basic#schema", Quote: "The full specification of the protocol is defined as a TypeScript schema. This is the source of truth for all protocol messages and structures."}
	call := func(quote string) Spec { return Spec{Section: "server/tools#tool-result", Quote: quote} }
	base := Scenario{
		ID: "SEEN-BASE", Area: "base", Title: "every message of the run",
		Checks: []Check{
			{ID: seenVersion, Title: `every message has jsonrpc "2.0"`, Level: Must, Spec: rpc(all)},
			{ID: seenExclusive, Title: "every response has exactly one of result and error", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "Responses are sent in reply to requests, containing either the result or error of the operation."}},
			{ID: seenKnown, Title: "every response answers a request that was sent", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}},
			{ID: seenOnce, Title: "no request is answered twice", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}},
			{ID: seenError, Title: "every error has an integer code and a message", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "Error codes MUST be integers."}},
			{ID: seenBatch, Title: "no message is an array", Level: Must, Spec: rpc(all)},
			{ID: seenResultSchema, Title: "every result fits the schema of its method", Level: Must, Spec: schema},
		},
	}
	requests := Scenario{
		ID: "SEEN-REQUESTS", Area: "base", Title: "every request and notification of the server",
		Checks: []Check{
			{ID: seenRequestID, Title: "ids of requests are strings or integers", Level: Must, Spec: Spec{Section: "basic#requests", Quote: "Requests MUST include a string or integer ID."}},
			{ID: seenParams, Title: "params are objects", Level: Must, Spec: rpc(all)},
			{ID: seenSentSchema, Title: "every message the server sends of its own fits the schema of its method", Level: Must, Spec: schema},
		},
	}
	results := Scenario{
		ID: "SEEN-CALLS", Area: "tools", Title: "every result of tools/call", Needs: Needs{Capability: "tools"},
		Checks: []Check{
			{ID: seenContent, Title: "content is an array of blocks with the members of their type", Level: Must, Spec: call("Unstructured content is returned in the content field of a result, and can contain multiple content items of different types")},
			{ID: seenIsError, Title: "isError, when present, is a boolean", Level: Must, Spec: Spec{Section: "schema#calltoolresult", Quote: "Whether the tool call ended in an error."}},
			{ID: seenStructure, Title: "structuredContent, when present, is an object", Level: Must, Spec: Spec{Section: "server/tools#structured-content", Quote: "Structured content is returned as a JSON object in the structuredContent field of a result."}},
			houseRule(seenProfile, "every error of a family carries data.profile", Spec{Seed: "X-PROF-01"}),
		},
	}
	stdio := Scenario{
		ID: "SEEN-STDIO", Area: "stdio", Title: "every line of standard output", Needs: Needs{Transport: wire.TransportStdio},
		Checks: []Check{
			{ID: seenClean, Title: "standard output has only messages, one to a line", Level: Must, Spec: Spec{Section: "basic/transports#stdio", Quote: "The server MUST NOT write anything to its stdout that is not a valid MCP message."}},
		},
	}
	http := Scenario{
		ID: "SEEN-HTTP", Area: "http", Title: "every answer to a POST", Needs: Needs{Transport: wire.TransportHTTP},
		Checks: []Check{
			{ID: seenMediaType, Title: "answers are application/json or text/event-stream", Level: Must, Spec: Spec{Section: "basic/transports#sending-messages-to-the-server", Quote: "the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object."}},
			rule(seenOne, "each JSON body is one message", Spec{Section: "basic/transports#sending-messages-to-the-server", Quote: "or Content-Type: application/json, to return one JSON object."}),
			rule(seenEvent, "the data of each event are one message", Spec{Section: "basic/transports#streamable-http", Quote: "Server can optionally make use of Server-Sent Events (SSE) to stream multiple server messages."}),
		},
	}
	all5 := []Scenario{base, requests, results, stdio, http}
	for i := range all5 {
		all5[i].last, all5[i].run = true, runObserved
	}
	return all5
}

// runObserved decides each check by what was seen. What no message was an
// occasion for is not established where every server gives one, and does not
// apply elsewhere.
func runObserved(t *trial) error {
	seen := t.leg.seen
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, c := range t.scenario.Checks {
		broken := seen.broken[c.ID]
		switch {
		case len(broken) > 0:
			evidence := make([]wire.Frame, len(broken))
			for i, v := range broken {
				evidence[i] = v.frame
				evidence[i].Note = v.detail
			}
			status := Fail
			if t.level(t.find(c.ID)) != Must {
				status = Warn
			}
			t.decide(c.ID, status, Result{Expected: "that of all", Actual: broken[0].detail, Evidence: evidence})
		case seen.observed[c.ID] > 0:
			t.pass(c.ID)
		case t.scenario.ID == "SEEN-REQUESTS":
			t.skip(c.ID, SkipNotDeclared, "the server sent none")
		case c.ID == seenOne || c.ID == seenEvent:
			t.skip(c.ID, SkipNotDeclared, "no answer had this form")
		case t.scenario.ID == "SEEN-CALLS":
			t.skip(c.ID, SkipNoFixture, "no call gave an occasion")
		default:
			t.decide(c.ID, Unknown, Result{Detail: "no message gave an occasion"})
		}
	}
	return nil
}
