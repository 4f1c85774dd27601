package suitetest

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// featureRewrites break what a server offers.
func featureRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for _, part := range []map[string]rewritten{
		resourceRewrites(), promptRewrites(), loggingRewrites(), pageRewrites(), fixtureRewrites(), clientFeatureRewrites(), contentRewrites(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// leading changes the first entry of a list.
func leading(kind wire.ListKind, change func(entry reply)) rewritten {
	return changed(kind.Method, func(_ fakeMessage, result reply) {
		if entries, _ := result[kind.Member].([]any); len(entries) > 0 {
			change(entries[0].(reply))
		}
	})
}

// doubled lists the first entry twice.
func doubled(kind wire.ListKind) rewritten {
	return changed(kind.Method, func(_ fakeMessage, result reply) {
		entries := result[kind.Member].([]any)
		result[kind.Member] = append(slices.Clone(entries), entries[0])
	})
}

// reads changes the contents of what is read.
func reads(change func(contents reply)) rewritten {
	return changed(mcp.MethodResourcesRead, func(_ fakeMessage, result reply) {
		for _, c := range result["contents"].([]any) {
			change(c.(reply))
		}
	})
}

// beside is r with another check that has to run.
func beside(check string, r rewritten) rewritten {
	r.also = append(r.also, check)
	return r
}

func resourceRewrites() map[string]rewritten {
	session := func(r rewritten) rewritten { r.revision = mcp.LatestSession; return r }
	stateless := func(r rewritten) rewritten { r.revision = mcp.Latest; return r }
	kept := "This never changes: 123."
	unknown := func(m fakeMessage) bool { return m.params["uri"] == "mainstay-no-such-scheme://nothing/at-all" }
	return map[string]rewritten{
		"RES-02/entries":      leading(wire.ResourceList, func(e reply) { e["uri"] = "no uri" }),
		"RES-02/unique":       doubled(wire.ResourceList),
		"RES-07/members":      leading(wire.ResourceList, func(e reply) { e["size"] = "many" }),
		"RES-02/read":         refusedWith(wire.CodeInvalidParams, func(m fakeMessage) bool { return m.method == mcp.MethodResourcesRead && !unknown(m) }),
		"RES-02/uri":          reads(func(c reply) { c["uri"] = "test://another" }),
		"RES-02/mime":         reads(func(c reply) { c["mimeType"] = "application/x-other" }),
		"RES-03/code":         stateless(recoded(wire.CodeInvalidParams, wire.CodeInternal)),
		"RES-03/session-code": session(recoded(mcp.CodeResourceNotFound, wire.CodeInternal)),
		"RES-03/data":         {after: withoutData(unknown)},
		"RES-03/empty": {first: func(m fakeMessage) ([]any, bool) {
			uri, _ := m.params["uri"].(string)
			return []any{success(m.id, reply{"contents": []any{}})}, m.method == mcp.MethodResourcesRead && strings.HasSuffix(uri, "-mainstay-no-such")
		}},
		"TOOL-13/binary":     beside("RES-02/read", reads(func(c reply) { c["mimeType"] = "image/png" })),
		"RES-07/template":    leading(wire.TemplateList, func(e reply) { e["uriTemplate"] = "test://{id" }),
		"RES-07/filled":      reads(func(c reply) { c["text"] = "nothing" }),
		"RES-07/other":       reads(func(c reply) { c["text"] = kept }),
		"RES-04/subscribe":   refusedInstead(asksFor(mcp.MethodResourcesSubscribe)),
		"RES-04/updated":     {note: dropped(mcp.MethodResourcesUpdated)},
		"RES-04/unsubscribe": refusedInstead(asksFor(mcp.MethodResourcesUnsubscribe)),
		"RES-04/stopped": {first: func(m fakeMessage) ([]any, bool) {
			return []any{success(m.id, reply{})}, m.method == mcp.MethodResourcesUnsubscribe
		}},
	}
}

func withoutData(when func(m fakeMessage) bool) func(m fakeMessage, r reply) []any {
	return func(m fakeMessage, r reply) []any {
		if e, ok := r["error"].(reply); ok && when(m) {
			delete(e, "data")
		}
		return []any{r}
	}
}

// prompting changes the messages of prompts.
func prompting(change func(message reply)) rewritten {
	return changed(mcp.MethodPromptsGet, func(_ fakeMessage, result reply) {
		messages, _ := result["messages"].([]any)
		for _, m := range messages {
			change(m.(reply))
		}
	})
}

// completes changes a completion.
func completes(change func(completion reply)) rewritten {
	return changed(mcp.MethodCompletionComplete, func(_ fakeMessage, result reply) { change(result["completion"].(reply)) })
}

func promptRewrites() map[string]rewritten {
	bare := func(m fakeMessage) bool {
		arguments, _ := m.params["arguments"].(map[string]any)
		return m.method == mcp.MethodPromptsGet && len(arguments) == 0
	}
	return map[string]rewritten{
		"PRM-01/names":  leading(wire.PromptList, func(e reply) { delete(e, "name") }),
		"PRM-01/unique": doubled(wire.PromptList),
		"PRM-01/arguments": changed(mcp.MethodPromptsList, func(_ fakeMessage, result reply) {
			for _, p := range result["prompts"].([]any) {
				if arguments, ok := p.(reply)["arguments"].([]any); ok {
					arguments[0].(reply)["required"] = "yes"
				}
			}
		}),
		"PRM-01/get":     refusedWith(wire.CodeInvalidParams, bare),
		"PRM-01/missing": servedInstead(bare),
		"PRM-01/values":  prompting(func(m reply) { m["content"] = reply{"type": "text", "text": "no values"} }),
		"PRM-01/embedded": prompting(func(m reply) {
			if resource, ok := m["content"].(reply)["resource"].(reply); ok {
				resource["uri"] = "test://another"
			}
		}),
		"PRM-01/image":   prompting(func(m reply) { delete(m["content"].(reply), "data") }),
		"CMP-01/values":  completes(func(c reply) { c["values"] = []any{1, 2} }),
		"CMP-02/hundred": completes(func(c reply) { c["values"] = slices.Repeat([]any{"x"}, 101) }),
		"CMP-02/total":   completes(func(c reply) { c["total"] = 0 }),
		"CMP-02/more":    completes(func(c reply) { c["hasMore"] = "yes" }),
		"CMP-01/unknown": servedInstead(asksFor(mcp.MethodCompletionComplete)),
	}
}

func loggingRewrites() map[string]rewritten {
	level := func(level string) func(m fakeMessage) bool {
		return func(m fakeMessage) bool { return m.method == mcp.MethodLoggingSetLevel && m.params["level"] == level }
	}
	return map[string]rewritten{
		"LOG-01/levels":    refusedInstead(level("alert")),
		"LOG-01/unknown":   servedInstead(level("loud")),
		"LOG-01/capitals":  servedInstead(level("ERROR")),
		"LOG-03/sent":      {note: dropped(mcp.MethodMessage)},
		"LOG-03/shape":     noting(mcp.MethodMessage, func(params reply) { params["level"] = "INFO" }),
		"LOG-03/threshold": {first: func(m fakeMessage) ([]any, bool) { return []any{success(m.id, reply{})}, level("emergency")(m) }},
		"CHG-01/tools":     {note: dropped(mcp.MethodToolsListChanged)},
		"CHG-01/prompts":   {note: dropped(mcp.MethodPromptsListChanged)},
		"X-WIRE-12/mixed":  {options: onlyFixtures, after: lost(mcp.MethodPromptsList, 7)},
		"X-WIRE-12/kinds": changed(mcp.MethodPromptsList, func(_ fakeMessage, result reply) {
			delete(result, "prompts")
			result["resources"] = []any{}
		}),
		"CHG-01/resources": {note: dropped(mcp.MethodResourcesListChanged)},
	}
}

func pageRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for word, kind := range map[string]wire.ListKind{"prompts": wire.PromptList, "resources": wire.ResourceList, "templates": wire.TemplateList} {
		all["UTIL-14/"+word+"-ends"] = changed(kind.Method, func(_ fakeMessage, result reply) { result["nextCursor"] = "again" })
		all["UTIL-14/"+word+"-disjoint"] = twoPages(kind)
		all["UTIL-15/"+word] = servedInstead(asksFor(kind.Method))
	}
	return all
}

// twoPages lists everything on each of two pages.
func twoPages(kind wire.ListKind) rewritten {
	var first reply
	return rewritten{after: func(m fakeMessage, r reply) []any {
		result, ok := r["result"].(reply)
		switch {
		case m.method != kind.Method:
		case m.params["cursor"] == "second":
			return []any{success(m.id, first)}
		case ok:
			first = maps.Clone(result)
			result["nextCursor"] = "second"
		}
		return []any{r}
	}}
}

func fixtureRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for word, tool := range map[string]string{
		"simple-text": fixture.ToolSimpleText, "image": "test_image_content", "audio": "test_audio_content",
		"resource": "test_embedded_resource", "mixed": "test_multiple_content_types",
	} {
		all["TOOL-13/"+word] = changedCall(tool, func(_ fakeMessage, result reply) { result["content"] = []any{} })
	}
	all["TOOL-13/failed"] = changedCall("test_error_handling", func(_ fakeMessage, result reply) { delete(result, "isError") })
	return all
}

// unwilling gives a call no answer once the client said no.
func unwilling(tool string, says func(result reply) bool) rewritten {
	no := false
	return rewritten{line: func(line []byte) ([]any, bool) {
		in := wire.Received(line, nil)
		result := reply{}
		for name, raw := range in.Members {
			result[name] = string(raw)
		}
		no = no || in.IsResponse() && says(result)
		return nil, false
	}, after: func(m fakeMessage, r reply) []any {
		if m.call == tool && no {
			return nil
		}
		return []any{r}
	}}
}

// asksAnyway asks a client that declared nothing.
func asksAnyway(tool, method string) rewritten {
	declared := true
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if m.method == mcp.MethodInitialize {
			capabilities, _ := m.params["capabilities"].(map[string]any)
			declared = len(capabilities) > 0
		}
		return []any{reply{"jsonrpc": "2.0", "id": "s-1", "method": method, "params": reply{}}, success(m.id, reply{"content": []any{}})}, m.call == tool && !declared
	}}
}

func clientFeatureRewrites() map[string]rewritten {
	const sampling, elicitation = mcp.MethodSamplingCreateMessage, mcp.MethodElicitationCreate
	answered := func(tool string) rewritten {
		return changedCall(tool, func(_ fakeMessage, result reply) {
			result["content"] = []any{reply{"type": "text", "text": "whatever"}}
		})
	}
	unasked := func(tool string) rewritten {
		return rewritten{first: func(m fakeMessage) ([]any, bool) {
			return []any{success(m.id, reply{"content": []any{}})}, m.call == tool
		}}
	}
	refused := func(r reply) bool { return r["error"] != nil }
	properties := func(change func(property reply)) func(params reply) {
		return func(params reply) {
			for _, property := range params["requestedSchema"].(reply)["properties"].(reply) {
				change(property.(reply))
			}
		}
	}
	return map[string]rewritten{
		"SAMP-01/asks":       unasked(fixture.ToolSampling),
		"SAMP-01/shape":      noting(sampling, func(params reply) { delete(params, "maxTokens") }),
		"SAMP-01/used":       answered(fixture.ToolSampling),
		"SAMP-01/refused":    unwilling(fixture.ToolSampling, refused),
		"SAMP-01/undeclared": asksAnyway(fixture.ToolSampling, sampling),
		"ELIC-01/asks":       unasked(fixture.ToolElicitation),
		"ELIC-01/shape":      noting(elicitation, properties(func(property reply) { property["type"] = "object" })),
		"ELIC-01/used":       answered(fixture.ToolElicitation),
		"ELIC-01/declined":   unwilling(fixture.ToolElicitation, func(r reply) bool { return r["result"] == `{"action":"decline"}` }),
		"ELIC-01/refused":    unwilling(fixture.ToolElicitation, refused),
		"ELIC-01/undeclared": asksAnyway(fixture.ToolElicitation, elicitation),
		"ELIC-04/defaults":   noting(elicitation, properties(func(property reply) { delete(property, "default") })),
		"ELIC-03/enums":      noting(elicitation, properties(func(property reply) { delete(property, "enum") })),
	}
}

// blocksChanged changes each block of the results of a tool.
func blocksChanged(tool string, change func(block reply)) rewritten {
	r := changedCall(tool, func(_ fakeMessage, result reply) {
		content, _ := result["content"].([]any)
		for _, block := range content {
			change(block.(reply))
		}
	})
	r.also = []string{"content"}
	return r
}

func contentRewrites() map[string]rewritten {
	const image = "test_image_content"
	on := func(area string, r rewritten) rewritten {
		r.also = []string{area}
		return r
	}
	return map[string]rewritten{
		observe.SeenBlockType:   blocksChanged(fixture.ToolSimpleText, func(block reply) { block["type"] = "markdown" }),
		observe.SeenBase64:      blocksChanged(image, func(block reply) { block["data"] = "no base64!" }),
		observe.SeenMIME:        blocksChanged(image, func(block reply) { block["mimeType"] = "text/plain" }),
		observe.SeenMagic:       blocksChanged(image, func(block reply) { block["mimeType"] = "image/jpeg" }),
		observe.SeenBlockURI:    blocksChanged("test_embedded_resource", func(block reply) { block["resource"].(reply)["uri"] = "nowhere" }),
		observe.SeenEmbedded:    blocksChanged("test_embedded_resource", func(block reply) { block["resource"].(reply)["blob"] = "" }),
		observe.SeenAnnotations: blocksChanged(image, func(block reply) { block["annotations"].(reply)["priority"] = 7 }),
		observe.SeenRole:        on("PRM-01", prompting(func(m reply) { m["role"] = "system" })),
		observe.SeenMessages:    on("PRM-01", prompting(func(m reply) { m["content"] = []any{m["content"]} })),
		observe.SeenContents:    on("RES-02", reads(func(c reply) { delete(c, "text"); delete(c, "blob") })),
	}
}

// lost drops one of the answers to a method.
func lost(method string, n int32) func(m fakeMessage, r reply) []any {
	var count atomic.Int32
	return func(m fakeMessage, r reply) []any {
		if m.method == method && count.Add(1) == n {
			return nil
		}
		return []any{r}
	}
}
