package mutants

import (
	"encoding/json"
	"net/http"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// lifecycleMutants break the handshake and what was agreed in it.
func lifecycleMutants() []Mutant {
	initialized := func(change func(x *exchange, result object)) func() *defect {
		return results(mcp.MethodInitialize, change)
	}
	introduced := func(change func(capabilities object)) func() *defect {
		return answers(func(x *exchange, r object) []object {
			if x.method == mcp.MethodInitialize || x.method == mcp.MethodDiscover {
				change(at(r, "result", "capabilities"))
			}
			return []object{r}
		})
	}
	return []Mutant{
		{ID: "version-not-echoed", Says: "a revision the server speaks is answered with another", Breaks: "LC-03", plant: initialized(func(x *exchange, result object) {
			if x.params["protocolVersion"] == string(mcp.Version2025_06_18) {
				result["protocolVersion"] = string(mcp.LatestSession)
			}
		})},
		{ID: "version-parroted", Says: "a revision nobody knows is echoed", Breaks: "LC-03", plant: initialized(func(x *exchange, result object) { result["protocolVersion"] = x.params["protocolVersion"] })},
		{ID: "server-without-version", Says: "serverInfo has no version", Breaks: "LC-01", plant: initialized(func(_ *exchange, result object) { delete(at(result, "serverInfo"), "version") })},
		{ID: "instructions-object", Says: "instructions is an object", Breaks: "LC-14", plant: initialized(func(_ *exchange, result object) { result["instructions"] = object{"text": "call the tools"} })},
		{ID: "capability-as-boolean", Says: "a capability is true in place of an object", Breaks: "LC-14", plant: introduced(func(c object) { c["logging"], c["prompts"] = true, true })},
		{ID: "prompts-declared-missing", Says: "prompts are declared and prompts/list is unknown", Breaks: "LC-11", plant: unserved(mcp.MethodPromptsList)},
		{ID: "templates-declared-missing", Says: "resources are declared and resources/templates/list is unknown", Breaks: "LC-11", plant: unserved(mcp.MethodResourceTemplatesList)},
		{ID: "logging-declared-missing", Says: "logging is declared and logging/setLevel is unknown", Breaks: "LC-11", plant: unserved(mcp.MethodLoggingSetLevel)},
		{ID: "completions-declared-missing", Says: "completions are declared and completion/complete is unknown", Breaks: "LC-11", plant: unserved(mcp.MethodCompletionComplete)},
		{ID: "tools-undeclared", Says: "tools are served and not declared", Breaks: "TOOL-01", plant: introduced(func(c object) { delete(c, "tools") })},
		{ID: "prompts-undeclared", Says: "prompts are served and not declared", Breaks: "LC-11", plant: introduced(func(c object) { delete(c, "prompts") })},
		{ID: "initialize-twice", Says: "a second initialize on a session is answered with an empty result", Breaks: "X-GATE-02", plant: initializeTwice},
		{ID: "no-gate", Says: "calls are served before notifications/initialized", Breaks: "X-GATE-01", plant: noGate},
		{ID: "ping-with-content", Says: "ping is answered with a text", Breaks: "UTIL-01", plant: results(mcp.MethodPing, func(_ *exchange, result object) { result["message"], result["jsonrpc"] = "pong", 2 })},
		{ID: "ping-unserved-early", Says: "ping is refused before notifications/initialized", Breaks: "UTIL-01", plant: pingUnservedEarly},
	}
}

// unserved answers a method as if it were unknown.
func unserved(method string) func() *defect {
	return func() *defect {
		return &defect{request: func(x *exchange) []object {
			if x.method == method && x.isRequest() && !x.stateless {
				return x.failure(-32601, "Method not found: "+method)
			}
			return nil
		}}
	}
}

// initializeTwice answers every initialize of a session but the first with an empty
// result: the client does not learn what was agreed.
func initializeTwice() *defect {
	return &defect{request: func(x *exchange) []object {
		if x.method == mcp.MethodInitialize && x.session != "" {
			return x.result(object{})
		}
		return nil
	}}
}

// noGate tells the server that every session is initialized at its first
// message.
func noGate() *defect {
	told := map[string]bool{}
	return &defect{request: func(x *exchange) []object {
		if x.session != "" && x.http.Method == http.MethodPost && !told[x.session] {
			told[x.session] = true
			x.ask(note(mcp.MethodInitialized, object{}))
		}
		return nil
	}}
}

func pingUnservedEarly() *defect {
	ready := map[string]bool{}
	return &defect{request: func(x *exchange) []object {
		switch {
		case x.method == mcp.MethodInitialized:
			ready[x.session] = true
		case x.method == mcp.MethodPing && !ready[x.session]:
			return x.failure(-32600, "not_initialized")
		}
		return nil
	}}
}

// readBatch reads a body that is an array of objects and puts it back.
func readBatch(r *http.Request) ([]object, bool) {
	body, err := peek(r)
	if err != nil {
		return nil, false
	}
	var values []json.RawMessage
	if json.Unmarshal(body, &values) != nil {
		return nil, false
	}
	var out []object
	for _, raw := range values {
		if message, ok := decode(raw); ok {
			out = append(out, message)
		}
	}
	return out, len(out) > 0
}
