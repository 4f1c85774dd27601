package families

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// What `tools/list` publishes over stdio is the 29 tools of the five seed
// families, and nothing else, each with exactly the schema of appendix A.
func TestInputSchemas_X_WIRE_07(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/input-schemas.json")
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &want))
	require.Len(t, want, 29)

	srv, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	got := listTools(t, srv)
	require.ElementsMatch(t, sortedKeys(want), sortedKeys(got))
	for name, schema := range want {
		require.JSONEq(t, string(schema), string(got[name].InputSchema), name)
		require.NotEmpty(t, got[name].Description, name)
		compiler := jsonschema.NewCompiler()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(got[name].InputSchema))
		require.NoError(t, err)
		require.NoError(t, compiler.AddResource("tool.json", doc))
		_, err = compiler.Compile("tool.json")
		require.NoError(t, err, name)
	}
}

// The committed schemas are those of the document they come from, where that
// document is at hand.
func TestInputSchemasAreTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "design", "tools.md"))
	if err != nil {
		t.Skip("the tool catalogue is not at hand")
	}
	raw, err := os.ReadFile("testdata/input-schemas.json")
	require.NoError(t, err)
	var have map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &have))
	_, appendix, found := strings.Cut(string(doc), "# Appendix A. Input schemas")
	require.True(t, found)
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(appendix, -1) {
		var schemas map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(block[1]), &schemas))
		for names, schema := range schemas {
			for name := range strings.SplitSeq(strings.TrimSuffix(names, " (same schema)"), " / ") {
				require.JSONEq(t, string(schema), string(have[name]), name)
				seen++
			}
		}
	}
	require.Equal(t, len(have), seen)
}

type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func listTools(t *testing.T, srv *server.Server) map[string]listedTool {
	t.Helper()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	var out bytes.Buffer
	require.NoError(t, srv.ServeStdio(t.Context(), in, &out))
	tools := map[string]listedTool{}
	for line := range strings.Lines(out.String()) {
		var answer struct {
			ID     int `json:"id"`
			Result struct {
				Tools []listedTool `json:"tools"`
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &answer))
		for _, tool := range answer.Result.Tools {
			require.NotContains(t, tools, tool.Name)
			tools[tool.Name] = tool
		}
	}
	return tools
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
