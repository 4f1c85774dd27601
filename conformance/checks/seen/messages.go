package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// observedScenarios judge every message the subject sent in the whole run.
func observedScenarios() []conformance.Scenario {
	rpc := func(quote string) conformance.Spec { return conformance.Spec{Section: "basic#messages", Quote: quote} }
	all := "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."
	schema := conformance.Spec{Section: "basic#schema", Quote: "The full specification of the protocol is defined as a TypeScript schema. This is the source of truth for all protocol messages and structures."}
	call := func(quote string) conformance.Spec {
		return conformance.Spec{Section: "server/tools#tool-result", Quote: quote}
	}
	base := conformance.Scenario{
		ID: "SEEN-BASE", Area: "base", Title: "every message of the run",
		Checks: []conformance.Check{
			{ID: observe.SeenVersion, Title: `every message has jsonrpc "2.0"`, Level: conformance.Must, Spec: rpc(all)},
			{ID: observe.SeenExclusive, Title: "every response has exactly one of result and error", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#responses", Quote: "Responses are sent in reply to requests, containing either the result or error of the operation."}},
			{ID: observe.SeenKnown, Title: "every response answers a request that was sent", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}},
			{ID: observe.SeenOnce, Title: "no request is answered twice", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#responses", Quote: "Responses MUST include the same ID as the request they correspond to."}},
			{ID: observe.SeenError, Title: "every error has an integer code and a message", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#responses", Quote: "Error codes MUST be integers."}},
			{ID: observe.SeenBatch, Title: "no message is an array", Level: conformance.Must, Spec: rpc(all)},
			{ID: observe.SeenResultSchema, Title: "every result fits the schema of its method", Level: conformance.Must, Spec: schema},
		},
	}
	requests := conformance.Scenario{
		ID: "SEEN-REQUESTS", Area: "base", Title: "every request and notification of the server",
		Checks: []conformance.Check{
			{ID: observe.SeenRequestID, Title: "ids of requests are strings or integers", Level: conformance.Must, Spec: conformance.Spec{Section: "basic#requests", Quote: "Requests MUST include a string or integer ID."}},
			{ID: observe.SeenParams, Title: "params are objects", Level: conformance.Must, Spec: rpc(all)},
			{ID: observe.SeenSentSchema, Title: "every message the server sends of its own fits the schema of its method", Level: conformance.Must, Spec: schema},
		},
	}
	results := conformance.Scenario{
		ID: "SEEN-CALLS", Area: "tools", Title: "every result of tools/call", Needs: conformance.Needs{Capability: "tools"},
		Checks: []conformance.Check{
			{ID: observe.SeenContent, Title: "content is an array of blocks with the members of their type", Level: conformance.Must, Spec: call("Unstructured content is returned in the content field of a result, and can contain multiple content items of different types")},
			{ID: observe.SeenIsError, Title: "isError, when present, is a boolean", Level: conformance.Must, Spec: conformance.Spec{Section: "schema#calltoolresult", Quote: "Whether the tool call ended in an error."}},
			{ID: observe.SeenStructure, Title: "structuredContent, when present, is an object", Level: conformance.Must, Spec: conformance.Spec{Section: "server/tools#structured-content", Quote: "Structured content is returned as a JSON object in the structuredContent field of a result."}},
			rule.House(observe.SeenProfile, "every error of a family carries data.profile", conformance.Spec{Seed: "X-PROF-01"}),
		},
	}
	stdio := conformance.Scenario{
		ID: "SEEN-STDIO", Area: "stdio", Title: "every line of standard output", Needs: conformance.Needs{Transport: wire.TransportStdio},
		Checks: []conformance.Check{
			{ID: observe.SeenClean, Title: "standard output has only messages, one to a line", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/transports#stdio", Quote: "The server MUST NOT write anything to its stdout that is not a valid MCP message."}},
		},
	}
	http := conformance.Scenario{
		ID: "SEEN-HTTP", Area: "http", Title: "every answer to a POST", Needs: conformance.Needs{Transport: wire.TransportHTTP},
		Checks: []conformance.Check{
			{ID: observe.SeenMediaType, Title: "answers are application/json or text/event-stream", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/transports#sending-messages-to-the-server", Quote: "the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object."}},
			rule.Must(observe.SeenOne, "each JSON body is one message", conformance.Spec{Section: "basic/transports#sending-messages-to-the-server", Quote: "or Content-Type: application/json, to return one JSON object."}),
			rule.Must(observe.SeenEvent, "the data of each event are one message", conformance.Spec{Section: "basic/transports#streamable-http", Quote: "Server can optionally make use of Server-Sent Events (SSE) to stream multiple server messages."}),
		},
	}
	all5 := []conformance.Scenario{base, requests, results, stdio, http}
	for i := range all5 {
		all5[i].Last, all5[i].Run = true, Judge
	}
	return all5
}

// Judge decides each check by what was seen. What no message was an
// occasion for is inconclusive where every server gives one, and does not
// apply elsewhere.
func Judge(t *conformance.Trial) error {
	for _, c := range t.Scenario.Checks {
		looked, broken := t.Rev.Seen.Outcome(c.ID)
		switch {
		case len(broken) > 0:
			status := conformance.Fail
			if t.Level(t.Find(c.ID)) != conformance.Must {
				status = conformance.Warn
			}
			t.Decide(c.ID, status, conformance.Result{Expected: "that of all", Actual: broken[0].Note, Evidence: broken})
		case looked > 0:
			t.Pass(c.ID)
		case t.Scenario.ID == "SEEN-REQUESTS":
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server sent none")
		case c.ID == observe.SeenOne || c.ID == observe.SeenEvent:
			t.Skip(c.ID, conformance.SkipNotDeclared, "no answer had this form")
		case t.Scenario.ID == "SEEN-CALLS":
			t.Skip(c.ID, conformance.SkipNoFixture, "no call gave an occasion")
		default:
			t.Decide(c.ID, conformance.Unknown, conformance.Result{Detail: "no message gave an occasion"})
		}
	}
	return nil
}
