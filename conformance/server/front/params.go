package front

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shape is what the params of a method must look like.
type shape struct {
	needed bool
	make   func() any // a pointer to what go-sdk reads them into
}

func as[T any]() any { return new(T) }

// shapes are those of the methods whose params say more than `_meta`. go-sdk
// reads them too late for an answer that is fit to be seen: over HTTP missing
// params are plain text, which costs a batch all of its answers, and params that
// do not fit come back whole in the error, with the names of Go types.
var shapes = map[string]shape{
	"tools/list":               {make: as[mcp.ListToolsParams]},
	"tools/call":               {needed: true, make: as[mcp.CallToolParamsRaw]},
	"resources/list":           {make: as[mcp.ListResourcesParams]},
	"resources/templates/list": {make: as[mcp.ListResourceTemplatesParams]},
	"resources/read":           {needed: true, make: as[mcp.ReadResourceParams]},
	"resources/subscribe":      {needed: true, make: as[mcp.SubscribeParams]},
	"resources/unsubscribe":    {needed: true, make: as[mcp.UnsubscribeParams]},
	"prompts/list":             {make: as[mcp.ListPromptsParams]},
	"prompts/get":              {needed: true, make: as[mcp.GetPromptParams]},
	"completion/complete":      {needed: true, make: as[mcp.CompleteParams]},
	"logging/setLevel":         {needed: true, make: as[mcp.SetLoggingLevelParams]}, //nolint:staticcheck // in force in every revision before the last
	"notifications/progress":   {needed: true, make: as[mcp.ProgressNotificationParams]},
	listenMethod:               {needed: true, make: as[mcp.SubscriptionsListenParams]},
	"skills/list":              {make: as[skillParams]},
	"skills/get":               {needed: true, make: as[skillParams]},
	"resources/directory/read": {needed: true, make: as[skillParams]},
	"tasks/get":                {needed: true, make: as[taskParams]},
	"tasks/update":             {needed: true, make: as[taskParams]},
	"tasks/cancel":             {needed: true, make: as[taskParams]},
}

// skillParams are those of the requests about skills.
type skillParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor"`
}

// check refuses a request or notification that go-sdk could not read. A fault
// without an error is a bad notification.
func (m *message) check() *fault {
	if m.kind == kindRequest && isNotification(m.method) {
		return invalidRequest(m.id, "notification", "%s is a notification and has no id", clip(m.method))
	}
	s, ok := shapes[m.method]
	if !ok {
		s.make = as[mcp.PingParams]
	}
	switch {
	case m.params != nil:
		return m.read(s.make())
	case s.needed:
		return m.badParams("params", "%s needs params", m.method)
	}
	return nil
}

// read decodes the params as go-sdk will.
func (m *message) read(params any) *fault {
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(m.params, params); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return m.badParams(clip(wrong.Field), "%s has a wrong type", clip(wrong.Field))
	case err != nil && m.params[0] != '{':
		return m.badParams("params", "params must be an object")
	case err != nil:
		return m.badParams("params", "they are not what %s takes", m.method)
	}
	return nil
}

func (m *message) badParams(field, format string, args ...any) *fault {
	if m.kind == kindNotification {
		return &fault{}
	}
	return &fault{id: m.id, err: rpcError(jsonrpc.CodeInvalidParams, "Invalid params: "+fmt.Sprintf(format, args...), map[string]any{"reason": "params", "field": field})}
}

// checkInitialize refuses an `initialize` that go-sdk would answer with code 0.
func checkInitialize(m *message) *fault {
	if m.params == nil {
		return m.badParams("params", "initialize needs params")
	}
	var p mcp.InitializeParams
	if f := m.read(&p); f != nil {
		return f
	}
	if p.ProtocolVersion == "" {
		return m.badParams("protocolVersion", "protocolVersion is required")
	}
	return nil
}

// isNotification reports whether method is one of a notification.
func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }

// heard reports whether anybody listens to the notification m.
func heard(b Backend, era Era, m *message) bool {
	return isNotification(m.method) && b.Serves(era, m.method)
}
