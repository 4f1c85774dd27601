package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden is one value and the one text it has.
type golden struct {
	name  string
	text  string
	value object
	fresh func() object
}

func runGolden(t *testing.T, tests []golden) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := Marshal(tt.value)
			require.NoError(t, err)
			require.Equal(t, tt.text, string(out))
			std, err := json.Marshal(tt.value)
			require.NoError(t, err)
			require.Equal(t, tt.text, string(std))

			got := tt.fresh()
			require.NoError(t, Unmarshal([]byte(tt.text), got))
			require.Equal(t, tt.value, got)
			got = tt.fresh()
			require.NoError(t, json.Unmarshal([]byte(tt.text), got))
			require.Equal(t, tt.value, got)
		})
	}
}

// TestAC_001_6_MCPTypes pins the seed's MCP types under the seed's names.
func TestAC_001_6_MCPTypes(t *testing.T) {
	t.Parallel()
	runGolden(t, []golden{
		{
			"InitializeParams",
			`{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"coe-client","version":"1.0.0"}}`,
			&InitializeParams{
				ProtocolVersion: Version2024_11_05,
				ClientInfo:      Implementation{Name: "coe-client", Version: "1.0.0"},
			},
			func() object { return &InitializeParams{} },
		},
		{
			"InitializeParams with the seed's tools capability",
			`{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"clientInfo":{"name":"coe-client","version":"1.0.0"}}`,
			&InitializeParams{
				ProtocolVersion: Version2024_11_05,
				Capabilities:    ClientCapabilities{Extra: Members{{"tools", json.RawMessage(`{"listChanged":true}`)}}},
				ClientInfo:      Implementation{Name: "coe-client", Version: "1.0.0"},
			},
			func() object { return &InitializeParams{} },
		},
		{
			"InitializeResult",
			`{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"srv","version":"2"},"instructions":"be kind"}`,
			&InitializeResult{
				ProtocolVersion: Version2024_11_05,
				Capabilities:    ServerCapabilities{Tools: &ListChangedCapability{ListChanged: true}},
				ServerInfo:      Implementation{Name: "srv", Version: "2"},
				Instructions:    "be kind",
			},
			func() object { return &InitializeResult{} },
		},
		{
			"ToolDefinition",
			`{"name":"create_task","description":"Creates a task.","inputSchema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}`,
			&ToolDefinition{
				Name:        "create_task",
				Description: "Creates a task.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
			},
			func() object { return &ToolDefinition{} },
		},
		{
			"ToolCallParams",
			`{"name":"create_task","arguments":{"title":"a \"b\"","n":9007199254740993}}`,
			&ToolCallParams{Name: "create_task", Arguments: json.RawMessage(`{"title":"a \"b\"","n":9007199254740993}`)},
			func() object { return &ToolCallParams{} },
		},
		{
			"ToolCallResult",
			`{"content":[{"type":"text","text":"done\n"}],"structuredContent":{"id":9007199254740993},"isError":true}`,
			&ToolCallResult{
				Content:           []Content{&TextContent{Text: "done\n"}},
				StructuredContent: json.RawMessage(`{"id":9007199254740993}`),
				IsError:           true,
			},
			func() object { return &ToolCallResult{} },
		},
	})
}

// TestAC_001_7_CapabilityTypes pins the seed's capability types.
func TestAC_001_7_CapabilityTypes(t *testing.T) {
	t.Parallel()
	runGolden(t, []golden{
		{
			"MCPServerCapabilities",
			`{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`,
			&MCPServerCapabilities{
				Logging:   &EmptyCapability{},
				Prompts:   &ListChangedCapability{ListChanged: true},
				Resources: &ResourcesCapability{Subscribe: true, ListChanged: true},
				Tools:     &ListChangedCapability{ListChanged: true},
			},
			func() object { return &MCPServerCapabilities{} },
		},
		{"no capabilities", `{}`, &MCPServerCapabilities{}, func() object { return &MCPServerCapabilities{} }},
		{
			"ServerInfo",
			`{"name":"srv","version":"2.0.0","title":"Server"}`,
			&ServerInfo{Name: "srv", Version: "2.0.0", Title: "Server"},
			func() object { return &ServerInfo{} },
		},
		{
			"InitializeResponse",
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"2"}}`,
			&InitializeResponse{
				ProtocolVersion: Version2025_11_25,
				Capabilities:    MCPServerCapabilities{Tools: &ListChangedCapability{}},
				ServerInfo:      ServerInfo{Name: "srv", Version: "2"},
			},
			func() object { return &InitializeResponse{} },
		},
	})
}
