package talk

import (
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Asked is an interim result.
type Asked struct {
	wire.Answer
	Requests map[string]json.RawMessage
	State    json.RawMessage
}

// AskedBy calls a method and reads what it asks for.
func AskedBy(t *engine.Trial, s *wire.Session, method string, params map[string]any) (Asked, error) {
	a, err := s.Request(t.Ctx, method, params)
	result, _ := rawjson.Object(a.Result)
	requests, _ := rawjson.Object(result["inputRequests"])
	return Asked{a, requests, result["requestState"]}, err
}

// Again returns the params of a retry: those of the call with what was asked
// for, and the state.
func (q Asked) Again(params map[string]any, responses map[string]any) map[string]any {
	out := map[string]any{"inputResponses": responses}
	for name, v := range params {
		out[name] = v
	}
	if q.State != nil {
		out["requestState"] = q.State
	}
	return out
}

// Responses answers each request: the user with name, the model with greeting.
func (q Asked) Responses() map[string]any {
	out := map[string]any{}
	for key, raw := range q.Requests {
		request, _ := rawjson.Object(raw)
		switch rawjson.Text(request["method"]) {
		case mcp.MethodElicitationCreate:
			answer := map[string]any{"action": "accept"}
			if params, _ := rawjson.Object(request["params"]); rawjson.Text(params["mode"]) != "url" { // which has no content
				answer["content"] = q.Form(request["params"])
			}
			out[key] = answer
		case mcp.MethodSamplingCreateMessage:
			out[key] = ModelSays
		case mcp.MethodRootsList:
			out[key] = map[string]any{"roots": []any{map[string]any{"uri": "file:///mainstay/root", "name": "root"}}}
		}
	}
	return out
}

// What the suite says where it is asked.
const (
	UserSays  = "Mainstay-7"
	ModelSaid = "Paris-7"
)

// ModelSays is what the suite answers for the model.
var ModelSays = map[string]any{
	"role": "assistant", "model": "mainstay-conformance", "stopReason": "endTurn",
	"content": map[string]any{"type": "text", "text": ModelSaid},
}

// Everything declares all that a server may ask of a client.
func Everything() map[string]any {
	return map[string]any{"elicitation": map[string]any{"form": struct{}{}, "url": struct{}{}}, "sampling": struct{}{}, "roots": struct{}{}}
}

// Form fills in each property of a form.
func (q Asked) Form(params json.RawMessage) map[string]any {
	members, _ := rawjson.Object(params)
	out := map[string]any{}
	for name, property := range fixture.ReadSchema(members["requestedSchema"]).Properties {
		s := fixture.ReadSchema(property)
		if s.Typed() == "string" && len(s.Enum) == 0 {
			out[name] = UserSays
		} else {
			out[name] = s.Value()
		}
	}
	return out
}

// KindFault describes a request of an unknown kind, "" if there is none.
func (q Asked) KindFault() string {
	for key, raw := range q.Requests {
		request, _ := rawjson.Object(raw)
		switch rawjson.Text(request["method"]) {
		case mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage, mcp.MethodRootsList:
		default:
			return key + " is " + rawjson.OrAbsent(request["method"])
		}
	}
	return ""
}

// Kinds counts the requests of each method.
func (q Asked) Kinds() map[string]int {
	out := map[string]int{}
	for _, raw := range q.Requests {
		request, _ := rawjson.Object(raw)
		out[rawjson.Text(request["method"])]++
	}
	return out
}

// One returns the params of the only request of a method.
func (q Asked) One(method string) map[string]json.RawMessage {
	for _, raw := range q.Requests {
		if request, _ := rawjson.Object(raw); rawjson.Text(request["method"]) == method {
			params, _ := rawjson.Object(request["params"])
			return params
		}
	}
	return nil
}

// ElicitationFault describes a fault in the params of an elicitation, "" if there is none.
func ElicitationFault(params map[string]json.RawMessage) string {
	if !rawjson.IsString(params["message"]) {
		return "message is " + rawjson.OrAbsent(params["message"])
	}
	if rawjson.Text(params["mode"]) == "url" {
		if !observe.IsAbsoluteURI(rawjson.Text(params["url"])) {
			return "url is " + rawjson.OrAbsent(params["url"])
		}
		return ""
	}
	if rawjson.Text(fixture.ReadSchema(params["requestedSchema"]).Type) != "object" {
		return "requestedSchema is " + rawjson.OrAbsent(params["requestedSchema"])
	}
	properties := fixture.ReadSchema(params["requestedSchema"]).Properties
	for _, name := range rawjson.SortedKeys(properties) {
		if fault := fieldFault(properties[name]); fault != "" {
			return fmt.Sprintf("%s of the form: %s", name, fault)
		}
	}
	return ""
}

// fieldFault describes a fault in a property of a form, "" if there is none.
func fieldFault(property json.RawMessage) string {
	members, _ := rawjson.Object(property)
	kind := fixture.ReadSchema(property).Typed()
	switch kind {
	case "string", "number", "integer", "boolean":
	case "array":
		items, _ := rawjson.Object(members["items"])
		if items["enum"] == nil && items["anyOf"] == nil {
			return "an array whose items are no choice: " + rawjson.OrAbsent(members["items"])
		}
	default:
		return rawjson.OrAbsent(property)
	}
	if given := members["default"]; given != nil && kind != "array" {
		if fault := fixture.Judge(rawjson.Encode(map[string]any{"type": kind}))(given); fault != "" {
			return fmt.Sprintf("its default %s is no %s", rawjson.Clip(string(given), 60), kind)
		}
	}
	return ""
}

// SamplingFault describes a fault in the params of a sampling request, "" if there is none.
func SamplingFault(params map[string]json.RawMessage) string {
	var messages []struct {
		Role    string
		Content json.RawMessage
	}
	if json.Unmarshal(params["messages"], &messages) != nil || messages == nil {
		return "messages is " + rawjson.OrAbsent(params["messages"])
	}
	for i, m := range messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Sprintf("the role of message %d is %q", i, m.Role)
		}
		if !rawjson.IsObject(m.Content) && !rawjson.IsArray(m.Content) {
			return fmt.Sprintf("the content of message %d is %s", i, rawjson.OrAbsent(m.Content))
		}
	}
	if !rawjson.IsInteger(params["maxTokens"]) {
		return "maxTokens is " + rawjson.OrAbsent(params["maxTokens"])
	}
	return ""
}
