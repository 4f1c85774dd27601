package conformance

import "github.com/mainstay-mcp/mainstay/mcp"

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
	return map[string]rewritten{seenResultSchema: result, seenSentSchema: sent}
}
