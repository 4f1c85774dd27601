package mutants

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// utilityMutants break logging, progress, cancellation and what a server asks
// of a client.
func utilityMutants() []Mutant {
	changed := func(n object) bool {
		method, _ := n["method"].(string)
		return strings.HasSuffix(method, "/list_changed")
	}
	return []Mutant{
		{ID: "log-level-ignored", Says: "log messages below the level set are sent", Breaks: "LOG-01", plant: requests(mcp.MethodLoggingSetLevel, func(x *exchange) {
			if level, _ := x.params["level"].(string); level != "" && knownLevel(level) {
				x.params["level"] = "debug"
			}
		})},
		{ID: "log-level-unknown-served", Says: "a level nobody knows is accepted", Breaks: "LOG-01", plant: excused(
			func(x *exchange, _ object) bool { return x.method == mcp.MethodLoggingSetLevel }, func(*exchange) object { return object{} })},
		{ID: "log-level-upper", Says: "log messages have levels in capitals", Breaks: "LOG-03", plant: notes(mcp.MethodMessage, func(_ *exchange, n object) []object {
			level, _ := at(n, "params")["level"].(string)
			at(n, "params")["level"] = strings.ToUpper(level)
			return []object{n}
		})},
		{ID: "log-without-data", Says: "log messages have no data", Breaks: "LOG-03", plant: notes(mcp.MethodMessage, func(_ *exchange, n object) []object {
			delete(at(n, "params"), "data")
			return []object{n}
		})},
		{ID: "log-lost", Says: "log messages are not sent", Breaks: "LOG-01", plant: notes(mcp.MethodMessage, func(*exchange, object) []object { return nil })},
		{ID: "progress-backwards", Says: "progress goes backwards", Breaks: "UTIL-08", plant: func() *defect {
			left := 1000
			return &defect{note: func(_ *exchange, n object) []object {
				if n["method"] == mcp.MethodProgress {
					left--
					at(n, "params")["progress"] = left
				}
				return []object{n}
			}}
		}},
		{ID: "progress-stands", Says: "progress does not increase", Breaks: "UTIL-08", plant: notes(mcp.MethodProgress, func(_ *exchange, n object) []object {
			at(n, "params")["progress"] = 1
			return []object{n}
		})},
		{ID: "progress-text", Says: "progress is a string", Breaks: "UTIL-08", plant: notes(mcp.MethodProgress, func(_ *exchange, n object) []object {
			at(n, "params")["progress"] = "50 %"
			return []object{n}
		})},
		{ID: "progress-other-token", Says: "progress has a token nobody gave", Breaks: "UTIL-08", plant: notes(mcp.MethodProgress, func(_ *exchange, n object) []object {
			at(n, "params")["progressToken"] = "another"
			return []object{n}
		})},
		{ID: "progress-token-type", Says: "the type of a progress token changes", Breaks: "UTIL-08", plant: notes(mcp.MethodProgress, func(_ *exchange, n object) []object {
			at(n, "params")["progressToken"] = jsonText(at(n, "params")["progressToken"])
			return []object{n}
		})},
		{ID: "progress-after-answer", Says: "progress comes after the answer", Breaks: "UTIL-08", plant: answers(func(x *exchange, r object) []object {
			if x.method == mcp.MethodToolsCall && x.token() != nil {
				return []object{r, note(mcp.MethodProgress, object{"progressToken": x.token(), "progress": 1000})}
			}
			return []object{r}
		})},
		{ID: "progress-unasked", Says: "progress comes for a call that gave no token", Breaks: "UTIL-08", plant: answers(func(x *exchange, r object) []object {
			if x.method == mcp.MethodToolsCall && x.token() == nil {
				return []object{note(mcp.MethodProgress, object{"progressToken": 0, "progress": 1}), r}
			}
			return []object{r}
		})},
		{ID: "cancelled-answered", Says: "a cancelled request is answered all the same", Breaks: "UTIL-06", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.method == mcp.MethodCancelled {
					x.message["params"] = object{"requestId": "none"}
				}
				return nil
			}}
		}},
		{ID: "list-changed-undeclared", Says: "lists change without the capability", Breaks: "CHG-01", plant: func() *defect {
			return &defect{answer: func(x *exchange, r object) []object {
				if x.method == mcp.MethodInitialize || x.method == mcp.MethodDiscover {
					for _, feature := range []string{"tools", "prompts", "resources"} {
						delete(at(r, "result", "capabilities", feature), "listChanged")
					}
				}
				return []object{r}
			}}
		}},
		{ID: "list-changed-silent", Says: "a list changes without a notification", Breaks: "CHG-01", plant: func() *defect {
			return &defect{note: func(_ *exchange, n object) []object {
				if changed(n) {
					return nil
				}
				return []object{n}
			}}
		}},
		{ID: "sampling-undeclared", Says: "the server asks for sampling of a client that declared none", Breaks: "LC-11", plant: askFirst("sampling", mcp.MethodSamplingCreateMessage, object{"messages": []any{}, "maxTokens": 10})},
		{ID: "roots-undeclared", Says: "the server asks for roots of a client that declared none", Breaks: "LC-11", plant: askFirst("roots", mcp.MethodRootsList, object{})},
		{ID: "elicitation-nested", Says: "an elicitation asks for an object inside an object", Breaks: "ELIC-03", plant: notes(mcp.MethodElicitationCreate, func(_ *exchange, n object) []object {
			at(n, "params")["requestedSchema"] = object{"type": "object", "properties": object{"user": object{"type": "object", "properties": object{"name": object{"type": "string"}}}}}
			return []object{n}
		})},
		{ID: "sampling-without-tokens", Says: "a sampling request has no maxTokens", Breaks: "SAMP-01", plant: notes(mcp.MethodSamplingCreateMessage, func(_ *exchange, n object) []object {
			delete(at(n, "params"), "maxTokens")
			return []object{n}
		})},
		{ID: "unknown-notification-sent", Says: "the server sends notifications that are not of the protocol's form", Breaks: "RPC-12", plant: notes(mcp.MethodMessage, func(_ *exchange, n object) []object {
			n["params"] = []any{n["params"]}
			return []object{n}
		})},
	}
}

func knownLevel(level string) bool {
	for _, known := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		if level == known {
			return true
		}
	}
	return false
}

// askFirst puts a request of the server before the answer of a tool, in
// sessions whose client did not declare the capability.
func askFirst(capability, method string, params object) func() *defect {
	return func() *defect {
		can := map[string]bool{}
		var declared bool
		return &defect{
			request: func(x *exchange) []object {
				if x.method == mcp.MethodInitialize {
					_, declared = at(x.params, "capabilities")[capability]
				}
				if x.method == mcp.MethodInitialized {
					can[x.session] = declared
				}
				return nil
			},
			answer: func(x *exchange, r object) []object {
				if x.method != mcp.MethodToolsCall || x.stateless || can[x.session] {
					return []object{r}
				}
				return []object{{"jsonrpc": "2.0", "id": "server-" + jsonText(x.id), "method": method, "params": params}, r}
			},
		}
	}
}
