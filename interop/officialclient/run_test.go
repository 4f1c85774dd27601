package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestScenariosAreTheSuites: the names that `list --client` of the pinned suite
// prints for clients without OAuth.
func TestScenariosAreTheSuites(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"elicitation-sep1034-client-defaults",
		"http-custom-headers",
		"http-invalid-tool-headers",
		"http-standard-headers",
		"initialize",
		"json-schema-2020-12-preservation",
		"json-schema-ref-no-deref",
		"request-metadata",
		"sep-2322-client-request-state",
		"sep-2640-client-no-prefetch",
		"sep-2640-client-verify-digest",
		"sep-2640-client-verify-frontmatter",
		"sep-2640-client-verify-size",
		"sse-retry",
		"tools_call",
	}, slices.Sorted(maps.Keys(scenarios)))
}

func TestWhatCannotBeRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		scenario string
		args     []string
		says     string
	}{
		{"unknown scenario", "juggle", []string{"http://127.0.0.1:1/mcp"}, `unknown scenario "juggle"`},
		{"no scenario", "", []string{"http://127.0.0.1:1/mcp"}, "MCP_CONFORMANCE_SCENARIO is not set"},
		{"no URL", "initialize", nil, "URL is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), tt.args, environment(tt.scenario, "", ""), &stderr))
			require.Contains(t, stderr.String(), tt.says)
		})
	}
}

// What the suite tells a scenario must be readable.
func TestUnreadableFacts(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"http://127.0.0.1:1/mcp"}, environment("auth/pre-registration", "", "{"), &stderr))
	require.Contains(t, stderr.String(), "cannot be read")
}

// TestEveryScenarioFailsWithoutAServer: none may look passed when nothing was
// there to judge it.
func TestEveryScenarioFailsWithoutAServer(t *testing.T) {
	t.Parallel()
	names := append(slices.Collect(maps.Keys(scenarios)), "auth/basic-cimd", "auth/dpop")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			require.Equal(t, exitFailed, run(t.Context(), []string{"http://127.0.0.1:1"}, environment(name, "", ""), &stderr))
			require.Contains(t, stderr.String(), name+": ")
		})
	}
}

func TestContextIsNeeded(t *testing.T) {
	t.Parallel()
	for _, told := range []string{"", "{", "{}"} {
		require.ErrorContains(t, customHeaders(t.Context(), nil, json.RawMessage(told)), "MCP_CONFORMANCE_CONTEXT")
	}
}

// TestVersionIsPinned: the revision the suite names is the one that is spoken,
// and without a name the newest with a handshake.
func TestVersionIsPinned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ named, want string }{
		{"2025-06-18", "2025-06-18"},
		{"", string(mcp.LatestSession)},
	} {
		offered := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			var request struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params struct {
					ProtocolVersion string `json:"protocolVersion"`
				} `json:"params"`
			}
			if json.Unmarshal(raw, &request) != nil || request.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			offered = request.Params.ProtocolVersion
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(request.ID)+`,"result":{"protocolVersion":"`+offered+
				`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
		}))
		var stderr bytes.Buffer
		require.Zero(t, run(t.Context(), []string{server.URL}, environment("initialize", tt.named, ""), &stderr), stderr.String())
		server.Close()
		require.Equal(t, tt.want, offered)
	}
}

func environment(scenario, version, context string) func(string) string {
	set := map[string]string{envScenario: scenario, envVersion: version, envContext: context}
	return func(name string) string { return set[name] }
}
