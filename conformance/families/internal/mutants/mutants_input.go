package mutants

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// inputMutants break the way a server asks a client for input in the stateless
// era.
func inputMutants() []Mutant {
	interim := func(change func(x *exchange, result object)) func() *defect {
		return answers(func(x *exchange, r object) []object {
			if result := at(r, "result"); result["resultType"] == "input_required" {
				change(x, result)
			}
			return []object{r}
		})
	}
	return []Mutant{
		{ID: "input-on-list", Says: "tools/list asks for input", Breaks: "MRTR-01", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.stateless && x.method == mcp.MethodToolsList && at(x.params, "_meta")[mcp.MetaClientCapabilities] != nil && len(at(x.params, "_meta", mcp.MetaClientCapabilities)) > 0 {
					return x.result(object{"resultType": "input_required", "requestState": "s"})
				}
				return nil
			}}
		}},
		{ID: "input-undeclared", Says: "the server asks for what the client did not declare", Breaks: "DISC-08", plant: beforeAll(func(x *exchange) {
			if meta := at(x.params, "_meta"); x.stateless && x.tool != "" && meta[mcp.MetaClientCapabilities] != nil {
				meta[mcp.MetaClientCapabilities] = object{"elicitation": object{"form": object{}}, "sampling": object{}, "roots": object{}}
			}
		})},
		{ID: "capabilities-remembered", Says: "capabilities are remembered from earlier requests", Breaks: "DISC-11", plant: func() *defect {
			seen := object{}
			return &defect{request: func(x *exchange) []object {
				if capabilities, ok := at(x.params, "_meta")[mcp.MetaClientCapabilities].(object); ok && x.stateless {
					maps.Copy(seen, capabilities)
					maps.Copy(capabilities, seen)
				}
				return nil
			}}
		}},
		{ID: "capability-missing-code", Says: "a missing capability is answered with -32602", Breaks: "DISC-08", plant: failures("-32021", func(_ *exchange, _, e object) { e["code"] = -32602 })},
		{ID: "capability-missing-array", Says: "requiredCapabilities is an array of names", Breaks: "DISC-08", plant: failures("-32021", func(_ *exchange, _, e object) { at(e, "data")["requiredCapabilities"] = []any{"sampling"} })},
		{ID: "capability-missing-200", Says: "a missing capability is refused with status 200", Breaks: "HTTP-33", plant: failureStatus("-32021", http.StatusOK)},
		{ID: "input-nothing", Says: "input is required and neither requests nor state are there", Breaks: "MRTR-02", plant: interim(func(_ *exchange, result object) {
			delete(result, "inputRequests")
			delete(result, "requestState")
		})},
		{ID: "input-array", Says: "inputRequests is an array", Breaks: "MRTR-02", plant: interim(func(_ *exchange, result object) {
			var values []any
			for _, request := range at(result, "inputRequests") {
				values = append(values, request)
			}
			result["inputRequests"] = values
		})},
		{ID: "input-state-object", Says: "requestState is an object", Breaks: "MRTR-02", plant: interim(func(_ *exchange, result object) {
			if result["requestState"] != nil {
				result["requestState"] = object{"state": result["requestState"]}
			}
		})},
		{ID: "input-cached", Says: "a result that asks for input says how long it is fresh", Breaks: "CACHE-01", plant: interim(func(_ *exchange, result object) { result["ttlMs"], result["cacheScope"] = 1000, "public" })},
		{ID: "state-tampered-served", Says: "a requestState that was changed is served", Breaks: "MRTR-13", plant: stateTampered},
		{ID: "input-missing-refused", Says: "a missing answer is an error and not asked for again", Breaks: "MRTR-13", plant: func() *defect {
			return &defect{answer: func(x *exchange, r object) []object {
				_, answered := x.params["inputResponses"]
				if answered && at(r, "result")["resultType"] == "input_required" && x.tool == "test_input_required_result_elicitation" {
					return x.failure(-32602, "an answer is missing")
				}
				return []object{r}
			}}
		}},
		{ID: "input-extra-refused", Says: "an answer nobody asked for is an error", Breaks: "MRTR-13", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if responses := at(x.params, "inputResponses"); x.stateless && len(responses) > 1 && x.tool == "test_input_required_result_elicitation" {
					return x.failure(-32602, "unknown input response")
				}
				return nil
			}}
		}},
		{ID: "input-answer-ignored", Says: "the answer of the client has no part in the result", Breaks: "MRTR-04", plant: calls("", func(x *exchange, result object) {
			if x.params["inputResponses"] != nil && result["resultType"] == "complete" {
				result["content"] = []any{object{"type": "text", "text": "done"}}
			}
		})},
	}
}

// stateTampered serves every state as the last one it gave for the tool.
func stateTampered() *defect {
	last := map[string]string{}
	return &defect{
		request: func(x *exchange) []object {
			if text(x.params["requestState"]) != "" && last[x.tool] != "" {
				x.params["requestState"] = last[x.tool]
			}
			return nil
		},
		answer: func(x *exchange, r object) []object {
			if state := text(at(r, "result")["requestState"]); state != "" {
				last[x.tool] = state
			}
			return []object{r}
		},
	}
}

// listenMutants break subscriptions of the stateless era.
func listenMutants() []Mutant {
	subscribed := func(n object) bool { return at(n, "params", "_meta")[mcp.MetaSubscriptionID] != nil }
	noted := func(change func(x *exchange, n object) []object) func() *defect {
		return func() *defect {
			return &defect{note: func(x *exchange, n object) []object {
				if x.method != mcp.MethodSubscriptionsListen {
					return []object{n}
				}
				return change(x, n)
			}}
		}
	}
	return []Mutant{
		{ID: "listen-unacknowledged", Says: "a subscription is not acknowledged", Breaks: "CHG-04", plant: notes(mcp.MethodSubscriptionsAcknowledged, func(*exchange, object) []object { return nil })},
		{ID: "listen-acknowledged-late", Says: "a notification comes before the acknowledgement", Breaks: "CHG-04", plant: notes(mcp.MethodSubscriptionsAcknowledged, func(x *exchange, n object) []object {
			early := note(mcp.MethodToolsListChanged, object{"_meta": object{mcp.MetaSubscriptionID: x.id}})
			return []object{early, n}
		})},
		{ID: "listen-without-id", Says: "notifications of a subscription do not name it", Breaks: "META-08", plant: noted(func(_ *exchange, n object) []object {
			delete(at(n, "params", "_meta"), mcp.MetaSubscriptionID)
			return []object{n}
		})},
		{ID: "listen-id-type", Says: "the id of a subscription changes its type", Breaks: "META-08", plant: noted(func(_ *exchange, n object) []object {
			if subscribed(n) {
				meta := at(n, "params", "_meta")
				if _, isNumber := meta[mcp.MetaSubscriptionID].(json.Number); isNumber {
					meta[mcp.MetaSubscriptionID] = jsonText(meta[mcp.MetaSubscriptionID])
				} else {
					meta[mcp.MetaSubscriptionID] = 1
				}
			}
			return []object{n}
		})},
		{ID: "listen-filter-ignored", Says: "notifications come that nobody asked for", Breaks: "CHG-03", plant: requests(mcp.MethodSubscriptionsListen, func(x *exchange) {
			asked := at(x.params, "notifications")
			asked["toolsListChanged"], asked["promptsListChanged"] = true, true
		})},
		{ID: "listen-acknowledges-all", Says: "kinds are acknowledged that nobody asked for", Breaks: "CHG-04", plant: notes(mcp.MethodSubscriptionsAcknowledged, func(_ *exchange, n object) []object {
			at(n, "params")["notifications"] = object{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}
			return []object{n}
		})},
		{ID: "listen-silent", Says: "a subscription is acknowledged and nothing comes", Breaks: "CHG-03", plant: noted(func(_ *exchange, n object) []object {
			if n["method"] == mcp.MethodSubscriptionsAcknowledged {
				return []object{n}
			}
			return nil
		})},
		{ID: "listen-answered-at-once", Says: "a subscription ends as soon as it is acknowledged", Breaks: "CHG-08", plant: notes(mcp.MethodSubscriptionsAcknowledged, func(x *exchange, n object) []object {
			return append([]object{n}, x.result(object{"resultType": "complete", "_meta": object{mcp.MetaSubscriptionID: x.id}})...)
		})},
	}
}
