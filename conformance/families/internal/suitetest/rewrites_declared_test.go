package suitetest

import (
	"maps"

	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// between rewrites what the server says, and then what the server with the defect says.
func between(server, defect rewritten) rewritten {
	return rewritten{overHTTP: true, base: server.handler, http: defect.handler}
}

// servedRewrites have a feature that they do not declare.
func servedRewrites() map[string]rewritten {
	all := map[string]rewritten{"LC-11/served-completions": hidden("completions", mcp.MethodCompletionComplete, reply{"completion": reply{"values": []any{"x"}}})}
	for _, kind := range []wire.ListKind{wire.ToolList, wire.ResourceList, wire.PromptList} {
		entry := reply{"name": "x", "uri": "mem://x", "inputSchema": reply{"type": "object"}}
		all["LC-11/served-"+kind.Capability] = hidden(kind.Capability, kind.Method, reply{kind.Member: []any{entry}})
	}
	all["LOG-01/declared"] = rewritten{after: func(m fakeMessage, r reply) []any {
		if m.method == mcp.MethodPing {
			return []any{reply{"jsonrpc": "2.0", "method": mcp.MethodMessage, "params": reply{"level": "info", "data": "ping"}}, r}
		}
		return withoutCapability("logging", m, r)
	}, also: []string{"UTIL-01", "LOG-03"}, revision: mcp.LatestSession, options: onlyFixtures}
	all["LC-11/news"] = rewritten{after: func(m fakeMessage, r reply) []any {
		if m.method == mcp.MethodPing {
			return []any{reply{"jsonrpc": "2.0", "method": mcp.MethodPromptsListChanged}, r}
		}
		if result, ok := r["result"].(reply); ok && m.method == mcp.MethodInitialize {
			result["capabilities"].(reply)["prompts"] = reply{}
		}
		return []any{r}
	}, also: []string{"UTIL-01", "LOG-03", "CHG-01-prompts"}, revision: mcp.LatestSession, options: onlyFixtures}
	return all
}

// withoutCapability removes a capability.
func withoutCapability(name string, m fakeMessage, r reply) []any {
	if result, ok := r["result"].(reply); ok && (m.method == mcp.MethodInitialize || m.method == mcp.MethodDiscover) {
		delete(result["capabilities"].(reply), name)
	}
	return []any{r}
}

// hidden is a server without a capability and its method. With the defect it serves the method.
func hidden(capability, method string, result reply) rewritten {
	return between(rewritten{after: func(m fakeMessage, r reply) []any {
		if m.method == method {
			return []any{failure(m.id, wire.CodeMethodNotFound, "no", nil)}
		}
		return withoutCapability(capability, m, r)
	}}, rewritten{first: func(m fakeMessage) ([]any, bool) {
		complete := reply{"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
		maps.Copy(complete, result)
		return []any{success(m.id, complete)}, m.method == method
	}})
}

// scopeRewrites have lists of two pages, the second with another cacheScope.
func scopeRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for word, kind := range map[string]wire.ListKind{"tools": wire.ToolList, "resources": wire.ResourceList, "templates": wire.TemplateList, "prompts": wire.PromptList} {
		scope := "public"
		twice := rewritten{first: func(m fakeMessage) ([]any, bool) {
			second := reply{"resultType": "complete", "ttlMs": 0, "cacheScope": scope, kind.Member: []any{}}
			return []any{success(m.id, second)}, m.method == kind.Method && m.params["cursor"] == "second"
		}, after: func(m fakeMessage, r reply) []any {
			if result, ok := r["result"].(reply); ok && m.method == kind.Method {
				result["nextCursor"] = "second"
				scope, _ = result["cacheScope"].(string)
			}
			return []any{r}
		}}
		all["CACHE-01/"+word+"-pages"] = between(twice, changed(kind.Method, func(m fakeMessage, result reply) {
			if m.params["cursor"] == "second" {
				result["cacheScope"] = map[any]string{"public": "private", "private": "public"}[result["cacheScope"]]
			}
		}))
	}
	return all
}

// annotationRewrites have annotations x-mcp-header that clients have to reject.
func annotationRewrites() map[string]rewritten {
	annotated := func(properties reply) rewritten {
		return changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
			tool := result["tools"].([]any)[0].(reply)
			tool["inputSchema"] = reply{"type": "object", "properties": properties}
		})
	}
	text := func(header any) reply { return reply{"type": "string", "x-mcp-header": header} }
	return map[string]rewritten{
		"HDR-06/name":   annotated(reply{"a": text("a header")}),
		"HDR-06/unique": annotated(reply{"a": text("Tenant"), "b": reply{"type": "object", "properties": reply{"c": text("TENANT")}}}),
		"HDR-06/type":   annotated(reply{"a": reply{"type": "number", "x-mcp-header": "Tenant"}}),
	}
}
