package mutants

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// rpcMutants break JSON-RPC itself.
func rpcMutants() []Mutant {
	return []Mutant{
		{ID: "id-as-string", Says: "an integer id comes back as a string", Breaks: "RPC-06", plant: answers(func(x *exchange, r object) []object {
			if n, ok := r["id"].(json.Number); ok {
				r["id"] = n.String()
			}
			return []object{r}
		})},
		{ID: "id-as-number", Says: "a string id of digits comes back as a number", Breaks: "RPC-06", plant: answers(func(x *exchange, r object) []object {
			if text, ok := r["id"].(string); ok {
				if n, err := strconv.Atoi(strings.TrimPrefix(text, "c-")); err == nil && !strings.HasPrefix(text, "c-") {
					r["id"] = n
				}
			}
			return []object{r}
		})},
		{ID: "id-cut", Says: "integer ids are cut to 32 bits", Breaks: "RPC-21", plant: answers(func(_ *exchange, r object) []object {
			if n, ok := r["id"].(json.Number); ok {
				if i, err := n.Int64(); err == nil {
					r["id"] = int32(i) //nolint:gosec // the defect
				}
			}
			return []object{r}
		})},
		{ID: "id-missing-in-errors", Says: "errors do not carry the id of their request", Breaks: "RPC-06", plant: failures("", func(x *exchange, r, _ object) {
			if x.isRequest() {
				r["id"] = nil
			}
		})},
		{ID: "version-1.0", Says: "responses say jsonrpc 1.0 when they are errors", Breaks: "RPC-01", plant: failures("", func(_ *exchange, r, _ object) { r["jsonrpc"] = "1.0" })},
		{ID: "version-not-checked", Says: "a message that says jsonrpc 1.0, or nothing, is served", Breaks: "X-WIRE-01", plant: beforeAll(func(x *exchange) { x.message["jsonrpc"] = "2.0" })},
		{ID: "code-as-string", Says: "the code of an error is a string", Breaks: "RPC-08", plant: failures("", func(_ *exchange, _, e object) { e["code"] = jsonText(e["code"]) })},
		{ID: "error-without-message", Says: "errors have no message", Breaks: "RPC-08", plant: failures("", func(_ *exchange, _, e object) { delete(e, "message") })},
		{ID: "result-and-error", Says: "an error comes with an empty result beside it", Breaks: "RPC-07", plant: failures("", func(_ *exchange, r, _ object) { r["result"] = object{} })},
		{ID: "error-null-beside-result", Says: "a result comes with error null beside it", Breaks: "RPC-07", plant: answers(func(_ *exchange, r object) []object {
			if r["result"] != nil {
				r["error"] = nil
			}
			return []object{r}
		})},
		{ID: "parse-error-code", Says: "what is no JSON is answered with -32600", Breaks: "X-WIRE-02", plant: failures("-32700", func(_ *exchange, _, e object) { e["code"] = -32600 })},
		{ID: "unknown-method-code", Says: "an unknown method is answered with -32603", Breaks: "X-WIRE-03", plant: failures("-32601", func(_ *exchange, _, e object) { e["code"] = -32603 })},
		{ID: "unknown-method-result", Says: "an unknown method is answered with an empty result", Breaks: "X-WIRE-03", plant: excused(
			func(x *exchange, _ object) bool { return !knownMethod(x.method) }, func(*exchange) object { return object{} })},
		{ID: "invalid-params-code", Says: "every wrong parameter is answered with -32000", Breaks: "X-WIRE-08", plant: failures("-32602", func(_ *exchange, _, e object) { e["code"] = -32000 })},
		{ID: "null-id-served", Says: "a request with id null is served", Breaks: "RPC-02", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if id, there := x.message["id"]; there && id == nil && x.method != "" {
					return x.result(x.complete(object{}))
				}
				return nil
			}}
		}},
		{ID: "positional-params-served", Says: "parameters in an array are taken for none", Breaks: "RPC-12", plant: beforeAll(func(x *exchange) {
			if _, positional := x.message["params"].([]any); positional {
				delete(x.message, "params")
			}
		})},
		{ID: "answered-twice", Says: "the answer to tools/call is sent twice", Breaks: "RPC-06", plant: answers(func(x *exchange, r object) []object {
			if x.method == mcp.MethodToolsCall {
				return []object{r, r}
			}
			return []object{r}
		})},
		{ID: "cross-talk", Says: "two calls that run at once get the same answer", Breaks: "X-WIRE-12", plant: crossTalk},
		{ID: "unicode-mangled", Says: "what is not ASCII comes back as question marks", Breaks: "RPC-01", plant: answers(func(_ *exchange, r object) []object {
			return []object{mapTexts(r, func(text string) string {
				return strings.Map(func(c rune) rune {
					if c > 0x7E {
						return '?'
					}
					return c
				}, text)
			}).(object)}
		})},
		{ID: "large-text-cut", Says: "texts are cut after 8 KiB", Breaks: "RPC-22", plant: answers(func(_ *exchange, r object) []object {
			return []object{mapTexts(r, func(text string) string { return text[:min(len(text), 8<<10)] }).(object)}
		})},
		{ID: "notification-answered", Says: "an unknown notification is answered with an error", Breaks: "RPC-11", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if _, there := x.message["id"]; !there && x.method != "" && x.method != mcp.MethodInitialized && x.method != mcp.MethodCancelled {
					return []object{{"jsonrpc": "2.0", "id": nil, "error": object{"code": -32601, "message": "Method not found"}}}
				}
				return nil
			}}
		}},
		{ID: "batch-first-only", Says: "of a batch only the first request is answered", Breaks: "RPC-15", Revisions: []mcp.Version{mcp.Version2025_03_26}, plant: batches(true)},
		{ID: "batch-served", Says: "a batch is served in a revision that has none", Breaks: "RPC-17", plant: batches(false)},
	}
}

// answers changes every response.
func answers(change func(x *exchange, r object) []object) func() *defect {
	return func() *defect { return &defect{answer: change} }
}

// beforeAll changes every message of the client.
func beforeAll(change func(x *exchange)) func() *defect {
	return func() *defect {
		return &defect{request: func(x *exchange) []object {
			change(x)
			return nil
		}}
	}
}

// jsonText is v as JSON, in a string.
func jsonText(v any) string { return string(encode(v)) }

func knownMethod(name string) bool {
	if strings.HasPrefix(name, "notifications/") {
		return true
	}
	return slices.ContainsFunc(mcp.Versions(), func(v mcp.Version) bool {
		_, known := mcp.LookupMethod(name, v)
		return known
	})
}

// mapTexts returns v with every string value changed; keys stay.
func mapTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case object:
		for name, member := range v {
			if name != "id" && name != "uri" {
				v[name] = mapTexts(member, change)
			}
		}
	case []any:
		for i := range v {
			v[i] = mapTexts(v[i], change)
		}
	}
	return v
}

// crossTalk gives a call the result of the call before it while both are under
// way.
func crossTalk() *defect {
	running := map[string]int{}
	last := map[string]any{}
	return &defect{
		request: func(x *exchange) []object {
			if x.isRequest() {
				running[x.method+x.tool]++
			}
			return nil
		},
		answer: func(x *exchange, r object) []object {
			kind := x.method + x.tool
			running[kind]--
			result := r["result"]
			if running[kind] > 0 && last[kind] != nil && result != nil && x.method == mcp.MethodToolsCall {
				r["result"] = last[kind]
			}
			last[kind] = result
			return []object{r}
		},
	}
}

// batches answers arrays, all of their requests or the first alone.
func batches(firstOnly bool) func() *defect {
	return before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		messages, ok := readBatch(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		var out []any
		for _, message := range messages {
			if message["id"] == nil || firstOnly && len(out) > 0 {
				continue
			}
			if answer := ask(next, r, message); answer != nil {
				out = append(out, answer)
			}
		}
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = w.Write(encode(out)) // a client that has gone reads nothing
	})
}
