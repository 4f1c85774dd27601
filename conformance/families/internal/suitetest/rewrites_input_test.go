package suitetest

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// retries reports whether a call brings answers.
func retries(m fakeMessage) bool { return m.params["inputResponses"] != nil }

// interim changes the results of a tool that ask for more.
func interim(name string, change func(result reply)) rewritten {
	return changedCall(fixture.InputRequired+name, func(_ fakeMessage, result reply) {
		if result["resultType"] == string(mcp.ResultInputRequired) {
			change(result)
		}
	})
}

// eachRequest changes the input requests of a result.
func eachRequest(change func(request reply)) func(result reply) {
	return func(result reply) {
		requests, _ := result["inputRequests"].(reply)
		for _, request := range requests {
			change(request.(reply))
		}
	}
}

// asIfDone answers calls of a tool as if the work were done.
func asIfDone(name string, when func(m fakeMessage) bool) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call == fixture.InputRequired+name && when(m) {
			return []any{success(m.id, reply{"resultType": "complete", "content": []any{}})}
		}
		return []any{r}
	}}
}

// curious asks every caller, whatever was declared.
func curious(name, method string) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any)
		if m.call == fixture.InputRequired+name && len(declared) == 0 {
			return []any{success(m.id, reply{"resultType": "input_required", "inputRequests": reply{"k": reply{"method": method, "params": reply{}}}})}
		}
		return []any{r}
	}}
}

func inputRewrites() map[string]rewritten {
	refused := func(when func(m fakeMessage) bool) rewritten { return refusedInstead(when) }
	retried := func(name string, holds func(responses map[string]any) bool) func(m fakeMessage) bool {
		return func(m fakeMessage) bool {
			responses, _ := m.params["inputResponses"].(map[string]any)
			return m.call == fixture.InputRequired+name && responses != nil && holds(responses)
		}
	}
	stranger := func(responses map[string]any) bool { return responses["mainstay-another-key"] != nil }
	declined := func(responses map[string]any) bool {
		answer, _ := responses["user_name"].(map[string]any)
		return answer["action"] == "decline"
	}
	always := func(map[string]any) bool { return true }
	return map[string]rewritten{
		"MRTR-13/asked": {after: func(m fakeMessage, r reply) []any {
			if m.call == fixture.ToolSimpleText {
				question := reply{"method": mcp.MethodElicitationCreate, "params": reply{"message": "Who?", "requestedSchema": reply{"type": "object", "properties": reply{}}}}
				return []any{success(m.id, reply{"resultType": "input_required", "inputRequests": reply{"k": question}})}
			}
			return []any{r}
		}, also: []string{"TOOL-13-simple-text", "MRTR-02/asks"}},
		"MRTR-02/asks":                interim("elicitation", func(result reply) { delete(result, "inputRequests") }),
		"MRTR-02/kind":                interim("elicitation", eachRequest(func(request reply) { request["method"] = "tools/call" })),
		"MRTR-02/elicitation":         interim("elicitation", eachRequest(func(request reply) { delete(request["params"].(reply), "requestedSchema") })),
		"MRTR-02/hints":               interim("elicitation", func(result reply) { result["ttlMs"], result["cacheScope"] = 0, "private" }),
		"MRTR-04/complete":            refused(retried("elicitation", always)),
		"MRTR-04/used":                asIfDone("elicitation", retries),
		"MRTR-13/missing":             refused(retried("elicitation", func(r map[string]any) bool { return stranger(r) && len(r) == 1 })),
		"MRTR-13/extra":               refused(retried("elicitation", func(r map[string]any) bool { return stranger(r) && len(r) > 1 })),
		"MRTR-13/malformed":           asIfDone("elicitation", retried("elicitation", func(r map[string]any) bool { return r["user_name"] == 12345.0 })),
		"MRTR-13/null":                asIfDone("elicitation", func(m fakeMessage) bool { v, there := m.params["inputResponses"]; return there && v == nil }),
		"MRTR-13/decline":             {first: func(m fakeMessage) ([]any, bool) { return nil, retried("elicitation", declined)(m) }},
		"MRTR-13/anywhere":            boundToConnection(),
		"MRTR-13/undeclared":          curious("elicitation", mcp.MethodElicitationCreate),
		"MRTR-03/sampling":            interim("sampling", eachRequest(func(request reply) { delete(request["params"].(reply), "maxTokens") })),
		"MRTR-03/sampling-used":       asIfDone("sampling", retries),
		"MRTR-13/sampling-undeclared": curious("sampling", mcp.MethodSamplingCreateMessage),
		"MRTR-03/roots":               interim("list_roots", eachRequest(func(request reply) { request["method"] = "roots/read" })),
		"MRTR-03/roots-used":          refused(retried("list_roots", always)),
		"MRTR-13/roots-undeclared":    curious("list_roots", mcp.MethodRootsList),
		"MRTR-03/three":               interim("multiple_inputs", func(result reply) { delete(result["inputRequests"].(reply), "client_roots") }),
		"MRTR-03/three-used":          asIfDone("multiple_inputs", retried("multiple_inputs", func(r map[string]any) bool { return len(r) == 3 })),
		"MRTR-13/partial":             asIfDone("multiple_inputs", retried("multiple_inputs", func(r map[string]any) bool { return len(r) == 1 })),
		"MRTR-07/second":              asIfDone("multi_round", retried("multi_round", func(r map[string]any) bool { return r["step1"] != nil })),
		"MRTR-07/complete":            refused(retried("multi_round", func(r map[string]any) bool { return r["step2"] != nil })),
		"MRTR-13/only-declared":       interim("capabilities", func(result reply) { result["inputRequests"].(reply)["k"] = reply{"method": mcp.MethodRootsList} }),
		"MRTR-13/nothing":             curious("capabilities", mcp.MethodRootsList),
		"MRTR-01/prompt":              refused(func(m fakeMessage) bool { return m.method == mcp.MethodPromptsGet && retries(m) }),
	}
}

// boundToConnection takes a retry only on the connection of the question, of
// which the suite has two.
func boundToConnection() rewritten {
	opened := 0
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if m.method == mcp.MethodDiscover && metaOf(m)[mcp.MetaClientCapabilities] != nil {
			if declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any); len(declared) > 0 {
				opened++
			}
		}
		return []any{failure(m.id, wire.CodeInvalidParams, "no such question", nil)}, opened > 1 && m.call == fixture.InputRequired+"elicitation" && retries(m)
	}}
}

// careless looks at no state.
func careless(tool string, state func(s string) bool) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		given, _ := m.params["requestState"].(string)
		if m.call == fixture.InputRequired+tool && given != "" && state(given) {
			return []any{success(m.id, reply{"resultType": "complete", "content": []any{}})}
		}
		return []any{r}
	}}
}

func stateRewrites() map[string]rewritten {
	invented := func(s string) bool { return s == "mainstay-never-given" }
	return map[string]rewritten{
		"MRTR-04/state":    refusedInstead(func(m fakeMessage) bool { return m.call == fixture.InputRequired+"request_state" && retries(m) }),
		"MRTR-13/tampered": careless("tampered_state", func(s string) bool { return !invented(s) }),
		"MRTR-13/invented": careless("tampered_state", invented),
		"MRTR-13/swapped":  careless("tampered_state", func(string) bool { return true }),
	}
}
