package mutants

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// toolMutants break the list of tools and what calls do.
func toolMutants() []Mutant {
	listed := func(change func(i int, tool object)) func() *defect {
		return entries(mcp.MethodToolsList, "tools", change)
	}
	first := func(change func(tool object)) func() *defect {
		return listed(func(i int, tool object) {
			if i == 0 {
				change(tool)
			}
		})
	}
	return []Mutant{
		{ID: "tool-name-twice", Says: "two tools have the same name", Breaks: "TOOL-05", plant: results(mcp.MethodToolsList, func(_ *exchange, result object) {
			if tools, ok := result["tools"].([]any); ok && len(tools) > 0 {
				result["tools"] = append(tools, tools[0])
			}
		})},
		{ID: "tool-name-characters", Says: "a tool has a name with a blank and a slash", Breaks: "TOOL-05", plant: first(func(tool object) { tool["name"] = "tools / " + tool["name"].(string) })},
		{ID: "tool-without-schema", Says: "a tool has no inputSchema", Breaks: "TOOL-06", plant: first(func(tool object) { delete(tool, "inputSchema") })},
		{ID: "tool-schema-null", Says: "a tool's inputSchema is null", Breaks: "TOOL-06", plant: first(func(tool object) { tool["inputSchema"] = nil })},
		{ID: "tool-schema-array", Says: "a tool's inputSchema is of type array", Breaks: "TOOL-07", plant: first(func(tool object) { tool["inputSchema"] = object{"type": "array"} })},
		{ID: "tool-schema-invalid", Says: "a tool's inputSchema is no schema", Breaks: "TOOL-06", plant: first(func(tool object) {
			tool["inputSchema"] = object{"type": "object", "properties": object{"a": object{"type": "strnig"}}}
		})},
		{ID: "tool-hint-text", Says: "readOnlyHint is a string", Breaks: "TOOL-04", plant: first(func(tool object) { tool["annotations"] = object{"readOnlyHint": "yes"} })},
		{ID: "tool-title-number", Says: "a tool's title is a number", Breaks: "TOOL-03", plant: first(func(tool object) { tool["title"] = 7 })},
		{ID: "tools-null", Says: "tools/list answers with tools null", Breaks: "TOOL-01", plant: results(mcp.MethodToolsList, func(_ *exchange, result object) { result["tools"] = nil })},
		{ID: "cursor-loop", Says: "nextCursor never ends", Breaks: "UTIL-14", plant: cursorLoop},
		{ID: "page-repeats", Says: "the second page repeats tools of the first", Breaks: "UTIL-14", plant: pageRepeats},
		{ID: "cursor-number", Says: "nextCursor is a number", Breaks: "UTIL-12", plant: results(mcp.MethodToolsList, func(_ *exchange, result object) { result["nextCursor"] = 2 })},
		{ID: "bad-cursor-served", Says: "a cursor the server never gave is served as the first page", Breaks: "UTIL-15", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if strings.HasSuffix(x.method, "/list") {
					delete(x.params, "cursor")
				}
				return nil
			}}
		}},
		{ID: "order-unstable", Says: "the order of tools changes from list to list", Breaks: "TOOL-02", plant: func() *defect {
			n := 0
			return &defect{answer: func(x *exchange, r object) []object {
				if tools, ok := at(r, "result")["tools"].([]any); ok && x.method == mcp.MethodToolsList && len(tools) > 1 {
					n++
					k := n % len(tools)
					at(r, "result")["tools"] = append(append([]any{}, tools[k:]...), tools[:k]...)
				}
				return []object{r}
			}}
		}},
		{ID: "listed-and-unknown", Says: "a tool that is listed is unknown when it is called", Breaks: "TOOL-01", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.tool == "test_simple_text" {
					return x.failure(-32602, "Unknown tool: test_simple_text")
				}
				return nil
			}}
		}},
		{ID: "unknown-tool-served", Says: "an unknown tool is answered with success", Breaks: "X-WIRE-03", plant: excused(unknownTool, func(*exchange) object { return object{"content": []any{}} })},
		{ID: "unknown-tool-is-error", Says: "an unknown tool is answered with a result that says isError", Breaks: "TOOL-12", plant: excused(unknownTool, func(*exchange) object {
			return object{"content": []any{object{"type": "text", "text": "Unknown tool"}}, "isError": true}
		})},
		{ID: "arguments-missing-served", Says: "a call without required arguments is answered with success", Breaks: "X-WIRE-08", plant: excused(
			func(x *exchange, e object) bool {
				text, _ := e["message"].(string)
				return x.tool != "" && strings.Contains(text, "required")
			},
			func(*exchange) object {
				return object{"content": []any{object{"type": "text", "text": "{}"}}, "structuredContent": object{}}
			})},
		{ID: "arguments-array-served", Says: "arguments that are an array are taken for none", Breaks: "TOOL-10", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if _, wrong := x.params["arguments"].([]any); wrong && x.tool != "" {
					delete(x.params, "arguments")
				}
				return nil
			}}
		}},
		{ID: "is-error-text", Says: "isError is a string", Breaks: "TOOL-12", plant: calls("", func(_ *exchange, result object) {
			if result["isError"] == true {
				result["isError"] = "true"
			}
		})},
		{ID: "is-error-lost", Says: "a tool that failed says nothing of it", Breaks: "TOOL-12", plant: calls("", func(_ *exchange, result object) { delete(result, "isError") })},
		{ID: "content-missing", Says: "the result of a tool has no content", Breaks: "TOOL-13", plant: calls("", func(_ *exchange, result object) { delete(result, "content") })},
		{ID: "content-object", Says: "content is one block and no array", Breaks: "TOOL-13", plant: calls("", func(_ *exchange, result object) {
			if content, ok := result["content"].([]any); ok && len(content) == 1 {
				result["content"] = content[0]
			}
		})},
		{ID: "structured-mismatch", Says: "structuredContent does not fit the outputSchema", Breaks: "TOOL-07", plant: structuredMismatch},
		{ID: "structured-array", Says: "structuredContent is an array", Breaks: "TOOL-07", plant: calls("", func(x *exchange, result object) {
			if content, there := result["structuredContent"]; there && !x.stateless {
				result["structuredContent"] = []any{content}
			}
		})},
		{ID: "structured-differs", Says: "structuredContent is not what the text says", Breaks: "X-WIRE-11", plant: calls("", func(_ *exchange, result object) {
			if content, ok := result["structuredContent"].(object); ok {
				content["unsaid"] = true
			}
		})},
		{ID: "structured-too-early", Says: "a client of the first revision gets structuredContent", Breaks: "X-WIRE-13", Revisions: []mcp.Version{mcp.Version2024_11_05}, plant: calls("", func(_ *exchange, result object) { result["structuredContent"] = object{} })},
	}
}

func unknownTool(x *exchange, e object) bool {
	text, _ := e["message"].(string)
	return x.tool != "" && strings.Contains(text, "Unknown tool")
}

// cursorLoop gives every page of tools the same next one.
func cursorLoop() *defect {
	const again = "cursor-1"
	return &defect{
		request: func(x *exchange) []object {
			if x.method == mcp.MethodToolsList && x.params["cursor"] == again {
				delete(x.params, "cursor")
			}
			return nil
		},
		answer: func(x *exchange, r object) []object {
			if result, ok := r["result"].(object); ok && x.method == mcp.MethodToolsList {
				result["nextCursor"] = again
			}
			return []object{r}
		},
	}
}

// pageRepeats cuts the list of tools in two pages that share a tool.
func pageRepeats() *defect {
	const second = "page-2"
	return &defect{
		request: func(x *exchange) []object {
			if x.method == mcp.MethodToolsList && x.params["cursor"] == second {
				delete(x.params, "cursor")
				x.tool = second
			}
			return nil
		},
		answer: func(x *exchange, r object) []object {
			result := at(r, "result")
			tools, ok := result["tools"].([]any)
			if !ok || x.method != mcp.MethodToolsList || len(tools) < 4 {
				return []object{r}
			}
			half := len(tools) / 2
			if x.tool == second {
				result["tools"] = tools[half-1:]
			} else {
				result["tools"], result["nextCursor"] = tools[:half], second
			}
			return []object{r}
		},
	}
}

// structuredMismatch declares an output schema that what tools return does not
// fit.
func structuredMismatch() *defect {
	return &defect{answer: func(x *exchange, r object) []object {
		switch {
		case x.method == mcp.MethodToolsList:
			for _, tool := range list(at(r, "result"), "tools") {
				tool["outputSchema"] = object{"type": "object", "properties": object{"answer": object{"type": "string"}}, "required": []any{"answer"}}
			}
		case x.method == mcp.MethodToolsCall && r["result"] != nil:
			if result := at(r, "result"); result["structuredContent"] == nil && result["isError"] != true {
				result["structuredContent"] = object{"answer": 42}
			}
		}
		return []object{r}
	}}
}

// contentMutants break the blocks that results are made of.
func contentMutants() []Mutant {
	return []Mutant{
		{ID: "text-number", Says: "the text of a block is a number", Breaks: "TOOL-13", plant: blocks("text", func(b object) { b["text"] = 42 })},
		{ID: "block-type-unknown", Says: "a block has a type nobody knows", Breaks: "TOOL-13", plant: blocks("image", func(b object) { b["type"] = "picture" })},
		{ID: "image-garbage", Says: "the data of an image are no base64", Breaks: "TOOL-13", plant: blocks("image", func(b object) { b["data"] = "not*base64!" })},
		{ID: "image-base64url", Says: "the data of an image are in the alphabet of URLs", Breaks: "TOOL-13", plant: blocks("image", func(b object) {
			data, _ := b["data"].(string)
			b["data"] = strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(data) + "-_"
		})},
		{ID: "image-mime-wrong", Says: "an image says it is text/plain", Breaks: "TOOL-13", plant: blocks("image", func(b object) { b["mimeType"] = "text/plain" })},
		{ID: "image-mime-bytes", Says: "an image of one format says it is of another", Breaks: "TOOL-13", plant: blocks("image", func(b object) { b["mimeType"] = "image/jpeg" })},
		{ID: "audio-without-mime", Says: "audio has no mimeType", Breaks: "TOOL-13", plant: blocks("audio", func(b object) { delete(b, "mimeType") })},
		{ID: "embedded-without-uri", Says: "an embedded resource has no uri", Breaks: "TOOL-13", plant: blocks("resource", func(b object) { delete(at(b, "resource"), "uri") })},
		{ID: "embedded-without-body", Says: "an embedded resource has neither text nor blob", Breaks: "TOOL-13", plant: blocks("resource", func(b object) {
			delete(at(b, "resource"), "text")
			delete(at(b, "resource"), "blob")
		})},
		{ID: "annotation-priority", Says: "the priority of a block is 7", Breaks: "RES-07", plant: blocks("text", func(b object) { b["annotations"] = object{"priority": 7} })},
		{ID: "annotation-audience", Says: "the audience of a block is a robot", Breaks: "RES-07", plant: blocks("text", func(b object) { b["annotations"] = object{"audience": []any{"robot"}} })},
		{ID: "image-empty", Says: "the data of an image are empty", Breaks: "TOOL-13", plant: blocks("image", func(b object) { b["data"] = "" })},
	}
}
