package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/officialschema"
)

// goTypes maps definitions of the schemas to the types that code them. For
// requests and notifications, which are envelopes of package jsonrpc, it is the
// type of their params.
var goTypes = map[string]func() object{
	"Annotations":          func() object { return &Annotations{} },
	"AudioContent":         func() object { return &AudioContent{} },
	"BlobResourceContents": func() object { return &ResourceContents{} },
	"CallToolParams":       func() object { return &CallToolParams{} },
	"CallToolResult":       func() object { return &CallToolResult{} },
	"CancelTaskParams":     func() object { return &TaskParams{} },
	"CancelTaskResult":     func() object { return &Task{} },
	"CancelledParams":      func() object { return &CancelledParams{} },
	"ClientCapabilities":   func() object { return &ClientCapabilities{} },
	"CompleteParams":       func() object { return &CompleteParams{} },
	"CompleteResult":       func() object { return &CompleteResult{} },
	"CreateMessageParams":  func() object { return &CreateMessageParams{} },
	"CreateMessageResult":  func() object { return &CreateMessageResult{} },
	"CreateTaskResult":     func() object { return &CreateTaskResult{} },
	"DiscoverParams":       func() object { return &RequestParams{} },
	"DiscoverResult":       func() object { return &DiscoverResult{} },
	"ElicitFormParams":     func() object { return &ElicitParams{} },
	"ElicitParams":         func() object { return &ElicitParams{} },
	"ElicitURLParams":      func() object { return &ElicitParams{} },
	"ElicitResult":         func() object { return &ElicitResult{} },
	"ElicitationCompleteParams": func() object {
		return &ElicitationCompleteParams{}
	},
	"EmbeddedResource":                func() object { return &EmbeddedResource{} },
	"EmptyResult":                     func() object { return &EmptyResult{} },
	"GetPromptParams":                 func() object { return &GetPromptParams{} },
	"GetPromptResult":                 func() object { return &GetPromptResult{} },
	"GetTaskParams":                   func() object { return &TaskParams{} },
	"GetTaskPayloadParams":            func() object { return &TaskParams{} },
	"GetTaskResult":                   func() object { return &Task{} },
	"Icon":                            func() object { return &Icon{} },
	"ImageContent":                    func() object { return &ImageContent{} },
	"Implementation":                  func() object { return &Implementation{} },
	"InitializeParams":                func() object { return &InitializeParams{} },
	"InitializeResult":                func() object { return &InitializeResult{} },
	"InitializedParams":               func() object { return &NotificationParams{} },
	"InputRequest":                    func() object { return &InputRequest{} },
	"InputRequiredResult":             func() object { return &InputRequiredResult{} },
	"ListPromptsParams":               func() object { return &PaginatedParams{} },
	"ListPromptsResult":               func() object { return &ListPromptsResult{} },
	"ListResourceTemplatesParams":     func() object { return &PaginatedParams{} },
	"ListResourceTemplatesResult":     func() object { return &ListResourceTemplatesResult{} },
	"ListResourcesParams":             func() object { return &PaginatedParams{} },
	"ListResourcesResult":             func() object { return &ListResourcesResult{} },
	"ListRootsParams":                 func() object { return &RequestParams{} },
	"ListRootsResult":                 func() object { return &ListRootsResult{} },
	"ListTasksParams":                 func() object { return &PaginatedParams{} },
	"ListTasksResult":                 func() object { return &ListTasksResult{} },
	"ListToolsParams":                 func() object { return &PaginatedParams{} },
	"ListToolsResult":                 func() object { return &ListToolsResult{} },
	"LoggingMessageParams":            func() object { return &LoggingMessageParams{} },
	"ModelHint":                       func() object { return &ModelHint{} },
	"ModelPreferences":                func() object { return &ModelPreferences{} },
	"NotificationParams":              func() object { return &NotificationParams{} },
	"PaginatedParams":                 func() object { return &PaginatedParams{} },
	"PingParams":                      func() object { return &RequestParams{} },
	"ProgressParams":                  func() object { return &ProgressParams{} },
	"Prompt":                          func() object { return &Prompt{} },
	"PromptArgument":                  func() object { return &PromptArgument{} },
	"PromptListChangedParams":         func() object { return &NotificationParams{} },
	"PromptMessage":                   func() object { return &PromptMessage{} },
	"PromptReference":                 func() object { return &CompletionReference{} },
	"ReadResourceParams":              func() object { return &ReadResourceParams{} },
	"ReadResourceResult":              func() object { return &ReadResourceResult{} },
	"RelatedTaskMetadata":             func() object { return &RelatedTask{} },
	"RequestParams":                   func() object { return &RequestParams{} },
	"Resource":                        func() object { return &Resource{} },
	"ResourceLink":                    func() object { return &ResourceLink{} },
	"ResourceListChangedParams":       func() object { return &NotificationParams{} },
	"ResourceReference":               func() object { return &CompletionReference{} },
	"ResourceTemplate":                func() object { return &ResourceTemplate{} },
	"ResourceTemplateReference":       func() object { return &CompletionReference{} },
	"ResourceUpdatedParams":           func() object { return &ResourceUpdatedParams{} },
	"Root":                            func() object { return &Root{} },
	"RootsListChangedParams":          func() object { return &NotificationParams{} },
	"SamplingMessage":                 func() object { return &SamplingMessage{} },
	"ServerCapabilities":              func() object { return &ServerCapabilities{} },
	"SetLevelParams":                  func() object { return &SetLevelParams{} },
	"SubscribeParams":                 func() object { return &SubscribeParams{} },
	"SubscriptionFilter":              func() object { return &SubscriptionFilter{} },
	"SubscriptionsAcknowledgedParams": func() object { return &SubscriptionsAcknowledgedParams{} },
	"SubscriptionsListenParams":       func() object { return &SubscriptionsListenParams{} },
	"SubscriptionsListenResult":       func() object { return &EmptyResult{} },
	"Task":                            func() object { return &Task{} },
	"TaskMetadata":                    func() object { return &TaskMetadata{} },
	"TaskStatusParams":                func() object { return &Task{} },
	"TextContent":                     func() object { return &TextContent{} },
	"TextResourceContents":            func() object { return &ResourceContents{} },
	"Tool":                            func() object { return &Tool{} },
	"ToolAnnotations":                 func() object { return &ToolAnnotations{} },
	"ToolChoice":                      func() object { return &ToolChoice{} },
	"ToolExecution":                   func() object { return &ToolExecution{} },
	"ToolListChangedParams":           func() object { return &NotificationParams{} },
	"ToolResultContent":               func() object { return &ToolResultContent{} },
	"ToolUseContent":                  func() object { return &ToolUseContent{} },
	"UnsubscribeParams":               func() object { return &SubscribeParams{} },
}

// extensionTypes are the same for the draft of the tasks extension.
var extensionTypes = map[string]func() object{
	"CancelTaskParams":              func() object { return &TaskParams{} },
	"CancelTaskResult":              func() object { return &EmptyResult{} },
	"CancelledTask":                 func() object { return &DetailedTask{} },
	"CompletedTask":                 func() object { return &DetailedTask{} },
	"CreateTaskResult":              func() object { return &DetailedTask{} },
	"DetailedTask":                  func() object { return &DetailedTask{} },
	"FailedTask":                    func() object { return &DetailedTask{} },
	"GetTaskParams":                 func() object { return &TaskParams{} },
	"GetTaskResult":                 func() object { return &DetailedTask{} },
	"InputRequiredTask":             func() object { return &DetailedTask{} },
	"Task":                          func() object { return &DetailedTask{} },
	"TaskStatusParams":              func() object { return &DetailedTask{} },
	"TaskSubscriptionNotifications": func() object { return &SubscriptionFilter{} },
	"UpdateTaskParams":              func() object { return &UpdateTaskParams{} },
	"UpdateTaskResult":              func() object { return &EmptyResult{} },
	"WorkingTask":                   func() object { return &DetailedTask{} },
}

// excluded are params, result and notification definitions without a Go type.
var excluded = map[string]string{
	"Result":                              "the base of all results; each result has its own type",
	"Notification":                        "the envelope is jsonrpc.Notification",
	"JSONRPCNotification":                 "the envelope is jsonrpc.Notification",
	"ClientNotification":                  "a union; the method tells the type",
	"ServerNotification":                  "a union; the method tells the type",
	"ClientResult":                        "a union; the request's method tells the type",
	"ServerResult":                        "a union; the request's method tells the type",
	"PaginatedResult":                     "a base; each list has its own type",
	"CacheableResult":                     "a base; each cacheable result has its own fields",
	"GetTaskPayloadResult":                "whatever the call would have answered: decoded as that call's result",
	"ResourceRequestParams":               "a base of ReadResourceParams and SubscribeParams",
	"InputResponseRequestParams":          "a base of the three params that carry input responses",
	"TaskAugmentedRequestParams":          "a base of the params that have a Task field",
	"PaginatedRequest":                    "a base; the params are PaginatedParams",
	"SubscriptionsListenResultMetaObject": "_meta stays raw",
}

// goName is our name for a definition; for a request or notification it is the
// name of its params.
func goName(def string) string {
	for _, cut := range []string{"RequestParams", "NotificationParams", "Request", "Notification"} {
		if base, ok := strings.CutSuffix(def, cut); ok && base != "" && base != "Input" {
			return base + "Params"
		}
	}
	switch def {
	case "ElicitRequestFormParams":
		return "ElicitFormParams"
	case "ElicitRequestURLParams":
		return "ElicitURLParams"
	}
	return def
}

type revisionSchema struct {
	*officialschema.Schema
	name  string
	defs  map[string]any
	types map[string]func() object
}

func loadSchemas(t *testing.T) []*revisionSchema {
	t.Helper()
	folder, there := officialschema.Folder(1)
	if !there {
		t.Skip("the official schemas are not beside this checkout")
	}
	var out []*revisionSchema
	for _, v := range Versions() {
		out = append(out, loadSchema(t, filepath.Join(folder, string(v)), goTypes))
	}
	return append(out, loadSchema(t, filepath.Join(folder, "ext-tasks-draft"), extensionTypes))
}

func loadSchema(t *testing.T, folder string, types map[string]func() object) *revisionSchema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "schema.json"))
	require.NoError(t, err)
	schema, err := officialschema.New(raw)
	require.NoError(t, err)
	s := &revisionSchema{Schema: schema, name: filepath.Base(folder), types: types}
	var root map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &root))
	defs, ok := root["$defs"]
	if !ok {
		defs = root["definitions"]
	}
	numbers := json.NewDecoder(bytes.NewReader(defs))
	numbers.UseNumber()
	require.NoError(t, numbers.Decode(&s.defs))
	return s
}

// TestSchemaCoverage finds every definition of params, a result or a
// notification either coded or excluded with a reason.
func TestSchemaCoverage(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range loadSchemas(t) {
		for def := range s.defs {
			if !isMessagePart(def) {
				continue
			}
			if _, ok := excluded[def]; ok {
				used[def] = true
				continue
			}
			_, ok := s.types[goName(def)]
			require.Truef(t, ok || goTypes[goName(def)] != nil, "%s: %s has neither a Go type nor a reason", s.name, def)
		}
	}
	for def, reason := range excluded {
		require.NotEmpty(t, reason)
		if isMessagePart(def) {
			require.Truef(t, used[def], "%s is excluded but in no schema", def)
		}
	}
}

func isMessagePart(def string) bool {
	return strings.HasSuffix(def, "Params") || strings.HasSuffix(def, "Result") || strings.HasSuffix(def, "Notification")
}

// TestSchemaExamples makes examples of each definition from the official
// schema, reads and writes them: the value must come back equal, must have used
// no Extra (so that each member has a field), and must still be valid.
func TestSchemaExamples(t *testing.T) {
	t.Parallel()
	for _, s := range loadSchemas(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tested := 0
			for def := range s.defs {
				schemaDef, ours := def, goName(def)
				fresh := s.types[ours]
				if fresh == nil {
					continue
				}
				for i, example := range s.examples(def) {
					whole := true
					raw, err := json.Marshal(example)
					require.NoError(t, err)
					if bytes.Contains(raw, []byte(`"jsonrpc"`)) || (strings.HasSuffix(def, "Request") && def != "InputRequest") || strings.HasSuffix(def, "Notification") {
						// A message: this package has its params, package jsonrpc the rest.
						params, ok := example.(map[string]any)["params"]
						if !ok {
							continue
						}
						raw, err = json.Marshal(params)
						require.NoError(t, err)
						whole = false
					}
					tested++
					label := fmt.Sprintf("%s example %d: %s", def, i, raw)
					got := fresh()
					require.NoError(t, Unmarshal(bytes.Clone(raw), got), label)
					out, err := Marshal(got)
					require.NoError(t, err, label)
					requireSameJSON(t, raw, out, label)
					extra := reflect.ValueOf(got).Elem().FieldByName("Extra").Interface().(Members)
					require.Empty(t, extra, label)
					require.False(t, holdsRaw(reflect.ValueOf(got)), "a known block was not recognised: "+label)
					if whole {
						require.NoError(t, s.Validate(schemaDef, out), label)
					}
				}
			}
			require.Greater(t, tested, 20)
		})
	}
}

// examples returns values that a definition allows: with the required members, with all
// members, and with each choice of its unions.
func (s *revisionSchema) examples(def string) []any {
	node := s.defs[def]
	out := []any{s.example(node, false, 0, 0)}
	for choice := range 6 {
		v := s.example(node, true, choice, 0)
		if !slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

func (s *revisionSchema) example(node any, all bool, choice, depth int) any {
	m, ok := node.(map[string]any)
	if !ok || len(m) == 0 || depth > 60 {
		return map[string]any{"any": json.Number("9007199254740993")}
	}
	if ref, ok := m["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		if strings.HasPrefix(name, "JSON") && !strings.HasPrefix(name, "JSONRPC") {
			return map[string]any{"any": json.Number("9007199254740993")} // recursive
		}
		return s.example(s.defs[name], all, choice, depth+1)
	}
	if parts, ok := m["allOf"].([]any); ok {
		merged := map[string]any{}
		for _, part := range parts {
			if obj, ok := s.example(part, all, choice, depth+1).(map[string]any); ok {
				mergeExample(merged, obj, part)
			}
		}
		return merged
	}
	for _, union := range []string{"anyOf", "oneOf"} {
		if parts, ok := m[union].([]any); ok {
			return s.example(parts[choice%len(parts)], all, choice, depth+1)
		}
	}
	if v, ok := m["const"]; ok {
		return v
	}
	if v, ok := m["enum"].([]any); ok {
		return v[choice%len(v)]
	}
	kind := m["type"]
	if list, ok := kind.([]any); ok {
		kind = list[choice%len(list)]
	}
	switch kind {
	case "string":
		return exampleText(m)
	case "integer":
		return json.Number("0")
	case "number":
		return json.Number("0.5")
	case "boolean":
		return choice%2 == 1
	case "null":
		return nil
	case "array":
		if m["items"] == nil {
			return []any{}
		}
		return []any{s.example(m["items"], all, choice, depth+1)}
	}
	out := map[string]any{}
	required, _ := m["required"].([]any)
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		if all || slices.Contains(required, any(name)) {
			out[name] = s.example(p, all, choice, depth+1)
		}
	}
	if len(properties) == 0 && m["additionalProperties"] != nil && all && depth > 2 && s.name != "ext-tasks-draft" {
		out["k"] = s.example(m["additionalProperties"], all, choice, depth+1)
	}
	return out
}

// mergeExample merges the example of one part of an allOf into that of the others.
func mergeExample(into, from map[string]any, part any) {
	for k, v := range from {
		old, known := into[k]
		oldMap, isMap := old.(map[string]any)
		newMap, both := v.(map[string]any)
		switch {
		case known && isMap && both:
			mergeExample(oldMap, newMap, nil)
		case !known || hasConst(part, k):
			into[k] = v
		}
	}
}

func hasConst(part any, name string) bool {
	m, _ := part.(map[string]any)
	p, _ := m["properties"].(map[string]any)
	v, _ := p[name].(map[string]any)
	_, ok := v["const"]
	return ok
}

func exampleText(m map[string]any) any {
	switch m["format"] {
	case "uri":
		return "file:///a"
	case "byte":
		return "aGk="
	case "uri-template":
		return "file:///{a}"
	}
	if d, ok := m["default"]; ok {
		return d
	}
	return "text\n\u00e9"
}

// holdsRaw reports whether a RawContent is anywhere in v.
func holdsRaw(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return false
		}
		return v.Type() == reflect.TypeFor[*RawContent]() || holdsRaw(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if holdsRaw(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if holdsRaw(v.Index(i)) {
				return true
			}
		}
	}
	return false
}
