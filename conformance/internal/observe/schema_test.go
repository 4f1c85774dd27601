package observe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/officialschema"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The packed schemas are those that the specification publishes.
func TestWireSchemas_Official(t *testing.T) {
	t.Parallel()
	folder, found := officialschema.Folder(3)
	if !found {
		t.Skip("the official schemas are not beside this checkout")
	}
	for _, v := range mcp.Versions() {
		official, err := os.ReadFile(filepath.Join(folder, string(v), "schema.json"))
		require.NoError(t, err)
		text, err := schemaText(v)
		require.NoError(t, err)
		require.Equal(t, string(official), string(text), v)
	}
}

// Every definition that a message is held against can be compiled: one that
// could not would pass all.
func TestWireSchemas_Compile(t *testing.T) {
	t.Parallel()
	for v, w := range schemasOf() {
		require.NotEmpty(t, w.byMethod, v)
		for _, name := range w.byMethod {
			_, err := w.compile(name)
			require.NoError(t, err, "%s %s", v, name)
		}
		for _, name := range []string{"CallToolResult", "ListToolsResult", "GetPromptResult", "ReadResourceResult", "CompleteResult", "EmptyResult"} {
			require.Contains(t, w.defs, name, v)
			_, err := w.compile(name)
			require.NoError(t, err, "%s %s", v, name)
		}
	}
}

func TestResultFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, result string
		revision             mcp.Version
		want                 string
	}{
		{"a ping", mcp.MethodPing, `{}`, mcp.LatestSession, ""},
		{"a role", mcp.MethodPromptsGet, `{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`, mcp.LatestSession, "(GetPromptResult)"},
		{"a good prompt", mcp.MethodPromptsGet, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, mcp.LatestSession, ""},
		{"audio before there was any", mcp.MethodToolsCall, `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`, mcp.Version2024_11_05, "(CallToolResult)"},
		{"no hints for caches", mcp.MethodToolsList, `{"tools":[],"resultType":"complete"}`, mcp.Latest, "(ListToolsResult)"},
		{"input required", mcp.MethodToolsCall, `{"resultType":"input_required","requestState":"s"}`, mcp.Latest, ""},
		{"state of another type", mcp.MethodToolsCall, `{"resultType":"input_required","requestState":{}}`, mcp.Latest, "(InputRequiredResult)"},
		{"a method nobody knows", "x/y", `[]`, mcp.Latest, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := resultFault(tt.revision, tt.method, []byte(tt.result))
			if tt.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, tt.want)
			}
		})
	}
}
