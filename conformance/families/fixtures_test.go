//nolint:staticcheck // sampling and roots are deprecated in the newest revision and in force in all before
package families

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/server/fixtures"
)

// What the official suite does, without the suite: one process and one URL, in
// both eras, through everything that stands before go-sdk.
func TestFixturesInBothErasAtOneURL(t *testing.T) {
	s := serve(t, func(o *Options) { o.Families = []string{artifact.Name, fixtures.Name} })
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			c := fixturesClient(t, s.url, version)
			ctx := t.Context()

			tools, err := c.ListTools(ctx, nil)
			require.NoError(t, err)
			require.Equal(t, "test_simple_text", tools.Tools[0].Name, "the suite calls the first one without arguments")

			for tool, args := range map[string]map[string]any{
				"test_simple_text":                           nil,
				"test_tool_with_progress":                    nil,
				"test_reconnection":                          nil,
				"test_sampling":                              {"prompt": "why?"},
				"test_elicitation":                           {"message": "who?"},
				"test_input_required_result_multiple_inputs": nil,
				"test_input_required_result_multi_round":     nil,
			} {
				res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
				require.NoError(t, err, tool)
				require.False(t, res.IsError, tool)
				require.NotEmpty(t, res.Content, tool)
			}

			_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_input_required_result_prompt"})
			require.NoError(t, err)
			read, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://template/123/data"})
			require.NoError(t, err)
			require.Contains(t, read.Contents[0].Text, "123")
			done, err := c.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
				Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "test"},
			})
			require.NoError(t, err)
			require.NotEmpty(t, done.Completion.Values)
			require.NoError(t, c.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://watched-resource"}))
			require.NoError(t, c.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "test://watched-resource"}))
			if version != "2026-07-28" {
				require.NoError(t, c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}))
			}
		})
	}
}

// fixturesClient is a go-sdk client that answers whatever it is asked.
func fixturesClient(t *testing.T, url, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "because"}}, nil
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			schema, _ := req.Params.RequestedSchema.(map[string]any)
			names, _ := schema["required"].([]any)
			for _, name := range names {
				content[name.(string)] = "a value"
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///work", Name: "work"})
	pool := &http.Transport{}
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: pool}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		pool.CloseIdleConnections()
	})
	require.Equal(t, version, session.InitializeResult().ProtocolVersion)
	return session
}
