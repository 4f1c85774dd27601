package suitetest

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// schemaRewrites send what the specification's schema does not have.
func schemaRewrites() map[string]rewritten {
	result := changed(mcp.MethodPromptsList, func(_ fakeMessage, result reply) {
		if prompts, _ := result["prompts"].([]any); len(prompts) > 0 {
			prompts[0].(reply)["name"] = 7
		}
	})
	result.also = []string{"LC-14/prompts"}
	sent := rewritten{also: []string{"UTIL-08/some"}, note: func(n reply) []any {
		if params, _ := n["params"].(reply); n["method"] == mcp.MethodProgress {
			params["progress"] = "half"
		}
		return []any{n}
	}}
	lost := func(change func(schema reply)) rewritten {
		return changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
			for _, tool := range result["tools"].([]any) {
				if tool := tool.(reply); tool["name"] == fixture.ToolDialect {
					change(tool["inputSchema"].(reply))
				}
			}
		})
	}
	return map[string]rewritten{
		observe.SeenResultSchema: result, observe.SeenSentSchema: sent,
		"TOOL-06/dialect":  lost(func(schema reply) { delete(schema, "$defs") }),
		"TOOL-06/keywords": lost(func(schema reply) { delete(schema["$defs"].(reply)["address"].(reply), "$anchor") }),
	}
}
