package clientsuite

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// kind is a type of JSON value, as schemas name them.
type kind byte

const (
	aString  kind = 's'
	anObject kind = 'o'
	anID     kind = 'i' // a string or an integer
	textMap  kind = 'm' // an object of strings
)

// shape is what the schemas of all revisions say of the params of a method.
type shape struct {
	required, optional map[string]kind
}

// shapes are those of what clients send.
var shapes = map[string]shape{
	mcp.MethodInitialize: {required: map[string]kind{"protocolVersion": aString, "capabilities": anObject, "clientInfo": anObject}},
	mcp.MethodToolsCall: {
		required: map[string]kind{"name": aString},
		optional: map[string]kind{"arguments": anObject, "inputResponses": anObject, "requestState": aString, "task": anObject},
	},
	mcp.MethodPromptsGet:            {required: map[string]kind{"name": aString}, optional: map[string]kind{"arguments": textMap, "inputResponses": anObject, "requestState": aString}},
	mcp.MethodResourcesRead:         {required: map[string]kind{"uri": aString}, optional: map[string]kind{"inputResponses": anObject, "requestState": aString}},
	mcp.MethodResourcesSubscribe:    {required: map[string]kind{"uri": aString}},
	mcp.MethodResourcesUnsubscribe:  {required: map[string]kind{"uri": aString}},
	mcp.MethodToolsList:             {optional: map[string]kind{"cursor": aString}},
	mcp.MethodPromptsList:           {optional: map[string]kind{"cursor": aString}},
	mcp.MethodResourcesList:         {optional: map[string]kind{"cursor": aString}},
	mcp.MethodResourceTemplatesList: {optional: map[string]kind{"cursor": aString}},
	mcp.MethodLoggingSetLevel:       {required: map[string]kind{"level": aString}},
	mcp.MethodCompletionComplete:    {required: map[string]kind{"ref": anObject, "argument": anObject}, optional: map[string]kind{"context": anObject}},
	mcp.MethodSubscriptionsListen:   {required: map[string]kind{"notifications": anObject}},
	mcp.MethodCancelled:             {required: map[string]kind{"requestId": anID}, optional: map[string]kind{"reason": aString}},
	mcp.MethodPing:                  {},
	mcp.MethodDiscover:              {},
	mcp.MethodInitialized:           {},
	mcp.MethodRootsListChanged:      {},
}

// shaped judges the params of one message.
func shaped(_ *trial, m *message) (about bool, wrong string) {
	s, known := shapes[m.method()]
	if !known {
		return false, ""
	}
	params := members(m.members["params"])
	for name, k := range s.required {
		if params[name] == nil {
			return true, m.method() + " without " + name
		}
		if !k.fits(params[name]) {
			return true, m.method() + " with " + name + " " + string(params[name])
		}
	}
	for name, k := range s.optional {
		if params[name] != nil && !k.fits(params[name]) {
			return true, m.method() + " with " + name + " " + string(params[name])
		}
	}
	if meta := params["_meta"]; meta != nil && !isObject(meta) {
		return true, m.method() + " with _meta " + string(meta)
	}
	return true, ""
}

func (k kind) fits(raw json.RawMessage) bool {
	switch k {
	case aString:
		return isString(raw)
	case anObject:
		return isObject(raw)
	case anID:
		return isString(raw) || isInteger(string(raw))
	case textMap:
		for _, v := range members(raw) {
			if !isString(v) {
				return false
			}
		}
		return isObject(raw)
	}
	return false
}

// members are those of a JSON object, nil of anything else.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	_ = json.Unmarshal(raw, &out) // no object: none
	return out
}

// objects reports whether raw is an object whose members are objects.
func objects(raw []byte) bool {
	for _, v := range members(raw) {
		if !isObject(v) {
			return false
		}
	}
	return isObject(raw)
}

// isInteger reports whether a JSON value is an integer.
func isInteger(raw string) bool {
	if len(raw) > 1 && raw[0] == '-' {
		raw = raw[1:]
	}
	return raw != "" && !slices.ContainsFunc([]byte(raw), func(c byte) bool { return c < '0' || c > '9' })
}
