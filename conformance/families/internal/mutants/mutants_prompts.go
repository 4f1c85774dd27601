package mutants

import "github.com/mainstay-mcp/mainstay/mcp"

// promptMutants break prompts and completion.
func promptMutants() []Mutant {
	messages := func(change func(m object)) func() *defect {
		return results(mcp.MethodPromptsGet, func(_ *exchange, result object) {
			for _, m := range list(result, "messages") {
				change(m)
			}
		})
	}
	completion := func(change func(c object)) func() *defect {
		return results(mcp.MethodCompletionComplete, func(_ *exchange, result object) { change(at(result, "completion")) })
	}
	many := func(n int) []any {
		var out []any
		for range n {
			out = append(out, "value")
		}
		return out
	}
	return []Mutant{
		{ID: "prompt-role", Says: "a message of a prompt has the role system", Breaks: "PRM-01", plant: messages(func(m object) { m["role"] = "system" })},
		{ID: "prompt-content-array", Says: "the content of a message is an array", Breaks: "PRM-01", plant: messages(func(m object) { m["content"] = []any{m["content"]} })},
		{ID: "prompt-without-messages", Says: "a prompt has no messages", Breaks: "PRM-01", plant: results(mcp.MethodPromptsGet, func(_ *exchange, result object) { delete(result, "messages") })},
		{ID: "prompt-name-twice", Says: "two prompts have the same name", Breaks: "PRM-01", plant: results(mcp.MethodPromptsList, func(_ *exchange, result object) {
			if all, ok := result["prompts"].([]any); ok && len(all) > 0 {
				result["prompts"] = append(all, all[0])
			}
		})},
		{ID: "prompt-required-text", Says: "required is a string", Breaks: "PRM-01", plant: entries(mcp.MethodPromptsList, "prompts", func(_ int, prompt object) {
			for _, a := range list(prompt, "arguments") {
				a["required"] = "yes"
			}
		})},
		{ID: "prompt-unknown-served", Says: "an unknown prompt is answered with no messages", Breaks: "PRM-01", plant: excused(
			func(x *exchange, e object) bool {
				return x.method == mcp.MethodPromptsGet && len(at(x.params, "arguments")) == 0
			},
			func(*exchange) object { return object{"messages": []any{}} })},
		{ID: "prompt-unknown-code", Says: "an unknown prompt is answered with -32603", Breaks: "PRM-01", plant: failures("-32602", func(x *exchange, _, e object) {
			if x.method == mcp.MethodPromptsGet {
				e["code"] = -32603
			}
		})},
		{ID: "prompt-argument-missing-served", Says: "a prompt without a required argument is served", Breaks: "PRM-01", plant: requests(mcp.MethodPromptsGet, func(x *exchange) {
			if x.params["name"] == "test_prompt_with_arguments" {
				arguments := object{"arg1": "", "arg2": ""}
				for name, v := range at(x.params, "arguments") {
					arguments[name] = v
				}
				x.params["arguments"] = arguments
			}
		})},
		{ID: "prompt-arguments-ignored", Says: "a prompt does not depend on its arguments", Breaks: "PRM-01", plant: requests(mcp.MethodPromptsGet, func(x *exchange) {
			for name := range at(x.params, "arguments") {
				if name != "resourceUri" {
					at(x.params, "arguments")[name] = "value"
				}
			}
		})},
		{ID: "completion-101", Says: "a completion has 101 values", Breaks: "CMP-02", plant: completion(func(c object) { c["values"] = many(101) })},
		{ID: "completion-numbers", Says: "the values of a completion are numbers", Breaks: "CMP-01", plant: completion(func(c object) { c["values"] = []any{1, 2} })},
		{ID: "completion-total-less", Says: "total is less than the number of values", Breaks: "CMP-02", plant: completion(func(c object) { c["values"], c["total"], c["hasMore"] = many(3), 1, false })},
		{ID: "completion-more-text", Says: "hasMore is a string", Breaks: "CMP-02", plant: completion(func(c object) { c["hasMore"] = "no" })},
		{ID: "completion-unknown-served", Says: "a completion for a prompt nobody knows is served", Breaks: "CMP-01", plant: excused(
			func(x *exchange, _ object) bool { return x.method == mcp.MethodCompletionComplete },
			func(*exchange) object { return object{"completion": object{"values": []any{}}} })},
	}
}
