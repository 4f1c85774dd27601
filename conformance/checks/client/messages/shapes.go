package messages

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// shapes are the params that the schemas of all revisions agree on, by method: names and
// types, optional ones with "?".
var shapes = map[string]string{
	mcp.MethodInitialize:            "protocolVersion:string capabilities:object clientInfo:object",
	mcp.MethodToolsCall:             "name:string arguments?:object inputResponses?:object requestState?:string task?:object",
	mcp.MethodPromptsGet:            "name:string arguments?:strings inputResponses?:object requestState?:string",
	mcp.MethodResourcesRead:         "uri:string inputResponses?:object requestState?:string",
	mcp.MethodResourcesSubscribe:    "uri:string",
	mcp.MethodResourcesUnsubscribe:  "uri:string",
	mcp.MethodToolsList:             "cursor?:string",
	mcp.MethodPromptsList:           "cursor?:string",
	mcp.MethodResourcesList:         "cursor?:string",
	mcp.MethodResourceTemplatesList: "cursor?:string",
	mcp.MethodLoggingSetLevel:       "level:string",
	mcp.MethodCompletionComplete:    "ref:object argument:object context?:object",
	mcp.MethodSubscriptionsListen:   "notifications:object",
	mcp.MethodCancelled:             "requestId:id reason?:string",
	mcp.MethodPing:                  "",
	mcp.MethodDiscover:              "",
	mcp.MethodInitialized:           "",
	mcp.MethodRootsListChanged:      "",
}

// fits reports whether a value has a type of shapes.
var fits = map[string]func(raw json.RawMessage) bool{
	"string":  rawjson.IsString,
	"object":  rawjson.IsObject,
	"id":      func(raw json.RawMessage) bool { return rawjson.IsString(raw) || peer.IsInteger(raw) },
	"strings": func(raw json.RawMessage) bool { return isObjectOf(raw, rawjson.IsString) },
}

// shaped judges the params of one message.
func shaped(_ *trial.Trial, m *peer.Message) (about bool, wrong string) {
	shape, known := shapes[m.Method()]
	if !known {
		return false, ""
	}
	params := peer.Members(m.Members["params"])
	for member := range strings.FieldsSeq(shape + " _meta?:object") {
		name, kind, _ := strings.Cut(member, ":")
		name, optional := strings.CutSuffix(name, "?")
		switch value := params[name]; {
		case value == nil && !optional:
			return true, m.Method() + " without " + name
		case value != nil && !fits[kind](value):
			return true, m.Method() + " with " + name + " " + string(value)
		}
	}
	return true, ""
}

func isObjectOf(raw json.RawMessage, is func(json.RawMessage) bool) bool {
	for _, v := range peer.Members(raw) {
		if !is(v) {
			return false
		}
	}
	return rawjson.IsObject(raw)
}

func isObjectOfObjects(raw json.RawMessage) bool { return isObjectOf(raw, rawjson.IsObject) }
