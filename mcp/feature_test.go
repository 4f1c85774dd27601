package mcp

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestHas(t *testing.T) {
	t.Parallel()
	var c ServerCapabilities
	require.NoError(t, Unmarshal([]byte(`{
		"tools":{"listChanged":false,"vendor":{}},"resources":{"subscribe":true},"completions":{},"logging":null,
		"experimental":{"x":{},"a.b":{"c":true}},"extensions":{"io.modelcontextprotocol/tasks":{"on":true}},
		"tasks":{"requests":{"tools":{"call":{}}}},"custom":{"deep":{"er":{}}},"off":false}`), &c))
	tests := map[string]bool{
		"tools": true, "tools.listChanged": false, "tools.vendor": true, "tools.subscribe": false,
		"resources": true, "resources.subscribe": true, "resources.listChanged": false,
		"completions": true, "logging": false, "prompts": false, "prompts.listChanged": false,
		"experimental": true, "experimental.x": true, "experimental.y": false, "experimental.a.b": true, "experimental.a.b.c": true,
		"experimental.a": false, "extensions.io.modelcontextprotocol/tasks": true, "extensions.io.modelcontextprotocol/tasks.on": true,
		"extensions.io": false, "tasks.requests.tools.call": true, "tasks.list": false,
		"custom.deep.er": true, "custom.deep.err": false, "off": false, "": false, ".": false, "tools.": false, "Tools": false,
	}
	for path, want := range tests {
		require.Equal(t, want, c.Has(path), "%q", path)
	}
	require.False(t, ServerCapabilities{}.Has("tools"))
	built := ServerCapabilities{Tools: &ListChangedCapability{ListChanged: true}, Resources: &ResourcesCapability{}}
	require.True(t, built.Has("tools.listChanged"))
	require.False(t, built.Has("resources.subscribe"))
	client := ClientCapabilities{Elicitation: &ElicitationCapability{URL: &EmptyCapability{}}}
	require.True(t, client.Has("elicitation.url"))
	require.False(t, client.Has("elicitation.form"))
}

func TestDisplayName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "t", (&Tool{Name: "n", Title: "t", Annotations: &ToolAnnotations{Title: "a"}}).DisplayName())
	require.Equal(t, "a", (&Tool{Name: "n", Annotations: &ToolAnnotations{Title: "a"}}).DisplayName())
	require.Equal(t, "n", (&Tool{Name: "n", Annotations: &ToolAnnotations{}}).DisplayName())
	require.Equal(t, "u", (&Resource{URI: "u"}).DisplayName())
	require.Equal(t, "n", (&ResourceTemplate{URITemplate: "u", Name: "n"}).DisplayName())
	require.Equal(t, "t", (&Prompt{Name: "n", Title: "t"}).DisplayName())
	require.Equal(t, "n", (&Implementation{Name: "n"}).DisplayName())
	require.Equal(t, "t", (&Implementation{Name: "n", Title: "t"}).DisplayName())
}

func TestToolAnnotationDefaults(t *testing.T) {
	t.Parallel()
	yes, no := ref(true), ref(false)
	tests := []struct {
		name                                         string
		in                                           *ToolAnnotations
		readOnly, destructive, idempotent, openWorld bool
	}{
		{"nil", nil, false, true, false, true},
		{"empty", &ToolAnnotations{}, false, true, false, true},
		{"read only", &ToolAnnotations{ReadOnlyHint: yes, DestructiveHint: yes, IdempotentHint: no}, true, false, true, true},
		{"kind", &ToolAnnotations{DestructiveHint: no, IdempotentHint: yes, OpenWorldHint: no}, false, false, true, false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.readOnly, tt.in.ReadOnly(), tt.name)
		require.Equal(t, tt.destructive, tt.in.Destructive(), tt.name)
		require.Equal(t, tt.idempotent, tt.in.Idempotent(), tt.name)
		require.Equal(t, tt.openWorld, tt.in.OpenWorld(), tt.name)
	}
}

func TestCallToolParams(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   CallToolParams
		want string
	}{
		{"no arguments", CallToolParams{Name: "a"}, `{"name":"a"}`},
		{"arguments", CallToolParams{Name: "é\n\"", Arguments: json.RawMessage(`{"a":1}`)}, `{"name":"é\n\"","arguments":{"a":1}}`},
		{
			"everything",
			CallToolParams{
				Name: "a", Arguments: json.RawMessage(`{}`),
				InputResponses: InputResponses{"k2": json.RawMessage(`{}`), "k1": json.RawMessage(`[]`)},
				RequestState:   ref(""), Task: &TaskMetadata{TTL: ref(int64(5)), Extra: Members{{"y", json.RawMessage(`0`)}}},
				Meta: json.RawMessage(`{"progressToken":1}`), Extra: Members{{"x", json.RawMessage(`1`)}},
			},
			`{"name":"a","arguments":{},"inputResponses":{"k1":[],"k2":{}},"requestState":"","task":{"ttl":5,"y":0},"_meta":{"progressToken":1},"x":1}`,
		},
		{
			"own choice of ttl",
			CallToolParams{Name: "a", Task: &TaskMetadata{Extra: Members{{"y", json.RawMessage(`0`)}}}},
			`{"name":"a","task":{"y":0}}`,
		},
	}
	for _, tt := range tests {
		got, err := Marshal(&tt.in)
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got), tt.name)
	}
}

func TestDiscoverServer(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"in _meta", `{"supportedVersions":[],"capabilities":{},"serverInfo":{"name":"old"},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"1"}}}`, "new"},
		{"older draft", `{"supportedVersions":[],"capabilities":{},"serverInfo":{"name":"old","version":"1"}}`, "old"},
		{"unreadable", `{"supportedVersions":[],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":7}}}`, ""},
		{"none", `{"supportedVersions":[],"capabilities":{}}`, ""},
	}
	for _, tt := range tests {
		var v DiscoverResult
		require.NoError(t, Unmarshal([]byte(tt.in), &v))
		require.Equal(t, tt.want, v.Server().Name, tt.name)
	}
}

func TestLoggingLevel(t *testing.T) {
	t.Parallel()
	order := []LoggingLevel{LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency}
	for i, l := range order {
		require.True(t, l.Known())
		if i > 0 {
			require.Greater(t, l.Slog(), order[i-1].Slog())
		}
	}
	require.Equal(t, slog.LevelInfo, LoggingLevel("shout").Slog())
	require.False(t, LoggingLevel("INFO").Known())
}

func TestTaskStatus(t *testing.T) {
	t.Parallel()
	for s, final := range map[TaskStatus]bool{
		TaskWorking: false, TaskInputRequired: false, TaskCompleted: true, TaskFailed: true, TaskCancelled: true, "else": false,
	} {
		require.Equal(t, final, s.Final(), s)
	}
}

// The string "1" and the number 1 are different ids.
func TestIDTypes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]jsonrpc.ID{
		`{"progressToken":"1","progress":1}`:              jsonrpc.StringID("1"),
		`{"progressToken":1,"progress":1}`:                jsonrpc.IntID(1),
		`{"progressToken":9007199254740993,"progress":1}`: jsonrpc.IntID(9007199254740993),
	} {
		var p ProgressParams
		require.NoError(t, Unmarshal([]byte(in), &p))
		require.Equal(t, want, p.ProgressToken)
		got, err := Marshal(&p)
		require.NoError(t, err)
		require.Equal(t, in, string(got))
	}
	got, err := Marshal(&CancelledParams{RequestID: jsonrpc.StringID("a"), Reason: "late"})
	require.NoError(t, err)
	require.Equal(t, `{"requestId":"a","reason":"late"}`, string(got))
	got, err = Marshal(&CancelledParams{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(got))
}

func TestErrorData(t *testing.T) {
	t.Parallel()
	runGolden(t, []golden{
		{
			"unsupported version", `{"supported":["2025-11-25"],"requested":"x"}`,
			&UnsupportedVersionData{Supported: []string{"2025-11-25"}, Requested: "x"},
			func() object { return &UnsupportedVersionData{} },
		},
		{
			"missing capability", `{"requiredCapabilities":{"elicitation":{"url":{}}}}`,
			&MissingCapabilityData{RequiredCapabilities: ClientCapabilities{Elicitation: &ElicitationCapability{URL: &EmptyCapability{}}}},
			func() object { return &MissingCapabilityData{} },
		},
		{
			"url elicitation", `{"elicitations":[{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}]}`,
			&URLElicitationRequiredData{Elicitations: []ElicitParams{{Mode: ElicitURL, Message: "m", URL: "https://a", ElicitationID: "1"}}},
			func() object { return &URLElicitationRequiredData{} },
		},
		{"not found", `{"uri":"a:b"}`, &ResourceNotFoundData{URI: "a:b"}, func() object { return &ResourceNotFoundData{} }},
		{
			"failed task", `{"resultType":"complete","taskId":"t","status":"failed","createdAt":"c","lastUpdatedAt":"l","ttlMs":null,"error":{"code":-32603,"message":"m"}}`,
			&DetailedTask{
				ResultType: ResultComplete, TaskID: "t", Status: TaskFailed, CreatedAt: "c", LastUpdatedAt: "l",
				Error: &jsonrpc.Error{Code: -32603, Message: "m"},
			},
			func() object { return &DetailedTask{} },
		},
		{
			"input required", `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}},"b":{"method":"roots/list"}},"requestState":"s"}`,
			&InputRequiredResult{
				ResultType: ResultInputRequired,
				InputRequests: InputRequests{
					"a": {Method: MethodElicitationCreate, Params: json.RawMessage(`{"message":"m"}`)},
					"b": {Method: MethodRootsList},
				},
				RequestState: ref("s"),
			},
			func() object { return &InputRequiredResult{} },
		},
	})
}
