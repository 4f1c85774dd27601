package conformance

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks about every message of a stateless server.
const (
	seenNoRequests = "RPC-14/no-requests"
	seenResultType = "DISC-12/result-type"
	seenIdentity   = "META-07/results"
	seenAskers     = "MRTR-01/only"
	seenReserved   = "ERR-05/reserved"
	seenRetired    = "ERR-05/retired"
)

// observedStatelessScenarios judge every message of a leg without sessions.
func observedStatelessScenarios() []Scenario {
	const codes = "basic#error-codes"
	return []Scenario{{
		ID: "SEEN-STATELESS", Area: "base", Title: "every message of a stateless server", Since: mcp.Version2026_07_28, last: true, run: runSeen,
		Checks: []Check{
			{ID: seenNoRequests, Title: "the server sends no requests", Level: Must, Spec: Spec{Section: "basic/patterns#server-to-client-interactions", Quote: "Servers MUST NOT initiate JSON-RPC requests, and clients do not send JSON-RPC responses."}},
			{ID: seenResultType, Title: "every result has a resultType that the client knows", Level: Must, Spec: Spec{Section: "basic#result-responses", Quote: "The result MUST include a resultType field to indicate the type of the result."}},
			{ID: seenIdentity, Title: "every result names the server in _meta", Level: Should, Spec: Spec{Section: "basic#meta", Quote: "Servers SHOULD include the following io.modelcontextprotocol/* field in every result's _meta, unless specifically configured not to do so"}},
			{ID: seenAskers, Title: "only tools/call, prompts/get and resources/read are answered with input_required", Level: Must, Spec: Spec{Section: "basic/patterns/mrtr#supported-requests", Quote: "Servers MUST NOT send InputRequiredResult responses on any other client requests."}},
			{ID: seenReserved, Title: "no error has a reserved code that the specification does not define", Level: Must, Spec: Spec{Section: codes, Quote: "Implementations MUST NOT emit any code from this sub-range that is not defined by this specification"}},
			{ID: seenRetired, Title: "no error has a code of an earlier revision, -32002 or -32042", Level: Must, Spec: Spec{Section: codes, Quote: "Implementations of this protocol version MUST NOT emit these codes"}},
		},
	}}
}

// runSeen decides what was seen; what no message gave an occasion for does not
// apply.
func runSeen(t *trial) error {
	seen := t.leg.seen
	seen.mu.Lock()
	var never []string
	for _, c := range t.scenario.Checks {
		if seen.observed[c.ID] == 0 {
			never = append(never, c.ID)
		}
	}
	seen.mu.Unlock()
	for _, id := range never {
		t.skip(id, SkipNotDeclared, "no message gave an occasion")
	}
	return runObserved(t)
}

// stateless judges one message of a leg without sessions.
func (o *observer) stateless(s *wire.Session, in wire.Inbound) {
	isRequest := !in.IsResponse() && in.ID() != ""
	o.see(seenNoRequests, !isRequest, in, "the request %s", in.Method())
	if !in.IsResponse() {
		return
	}
	a := wire.ToAnswer(in)
	if a.Err != nil {
		defined := []int64{wire.CodeHeader, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion}
		reserved := a.Err.Code <= -32020 && a.Err.Code >= -32099
		o.see(seenReserved, !reserved || slices.Contains(defined, a.Err.Code) || a.Err.Code == mcp.CodeURLElicitationRequired, in, "code %d", a.Err.Code)
		o.see(seenRetired, a.Err.Code != mcp.CodeResourceNotFound && a.Err.Code != mcp.CodeURLElicitationRequired, in, "code %d", a.Err.Code)
		return
	}
	result, ok := rawjson.Object(a.Result)
	method, known := s.Asked[in.ID()]
	// What the revision does not have is not its business: a server of both eras
	// answers initialize as one of sessions, and may have methods of its own.
	if !ok || known && !mcp.MethodIn(method, s.Stateless) {
		return
	}
	kind := wire.ResultType(a)
	// A task is for a client that declares the extension, in answer to a call.
	isTask := kind == mcp.ResultTask && method == mcp.MethodToolsCall && s.Declares["extensions"] != nil
	o.see(seenResultType, isTask || kind == mcp.ResultComplete || kind == mcp.ResultInputRequired, in, "resultType is %s", rawjson.OrAbsent(result["resultType"]))
	meta, _ := rawjson.Object(result["_meta"])
	o.see(seenIdentity, rawjson.IsObject(meta[mcp.MetaServerInfo]), in, "%s is %s", mcp.MetaServerInfo, rawjson.OrAbsent(meta[mcp.MetaServerInfo]))
	askers := []string{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead}
	if known {
		o.see(seenAskers, kind != mcp.ResultInputRequired || slices.Contains(askers, method), in, "%s is answered with input_required", method)
	}
}
