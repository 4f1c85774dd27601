package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// readers are the ways an application reads the whole list of tools.
var readers = map[string]func(t *testing.T, c *client.Client){
	"Tools": func(t *testing.T, c *client.Client) {
		t.Helper()
		for tool, err := range c.Tools(t.Context()) {
			require.NoError(t, err)
			copy(tool.InputSchema, strings.Repeat(" ", len(tool.InputSchema))) // it is the caller's
		}
	},
	"ListTools": func(t *testing.T, c *client.Client) {
		t.Helper()
		page, err := c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		copy(page.Tools[0].InputSchema, strings.Repeat(" ", len(page.Tools[0].InputSchema)))
	},
}

// Headers follow the schema that was seen last, from any list, even if the client has
// looked for the tool in vain before.
func TestLearn_HDR_09_Headers(t *testing.T) {
	t.Parallel()
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
			s.on("tools/list", script(jsonrpc.NewError(jsonrpc.CodeInvalidParams, "not now", nil)))
			call := func() map[string]string {
				_, err := c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
				require.NoError(t, err)
				return s.last("tools/call").params()
			}
			require.Empty(t, call())
			s.result("tools/list", listing(aTool))
			read(t, c)
			require.Equal(t, map[string]string{"Region": "x"}, call())

			// What is obtained later counts.
			s.result("tools/list", listing(strings.Replace(aTool, `"Region"`, `"Place"`, 1)))
			c.InvalidateTools()
			read(t, c)
			require.Equal(t, map[string]string{"Place": "x"}, call())
		})
	}
}

// Results are checked against the list.
func TestLearn_TOOL_11_Outputs(t *testing.T) {
	t.Parallel()
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := ofVersion(t, "2025-11-25", toolWith(`{"type":"object","required":["a"]}`), client.WithCache(client.CacheConfig{NoPreload: true}), strictResults)
			s.result("tools/call", `{"content":[],"structuredContent":{"b":1}}`)
			_, err := c.CallTool(t.Context(), "x", nil)
			require.NoError(t, err, "nothing is known of the tool")
			read(t, c)
			_, err = c.CallTool(t.Context(), "x", nil)
			require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), "%v", err)
			var output *client.OutputError
			require.ErrorAs(t, err, &output)
			require.Equal(t, json.RawMessage(`{"b":1}`), output.Result.StructuredContent)
		})
	}
}

// A walk that the caller has for itself alone, or that was not ended, teaches
// nothing.
func TestLearn_NotOfEveryWalk(t *testing.T) {
	t.Parallel()
	c, s := ofVersion(t, "2025-11-25", toolWith(`{"type":"object","required":["a"]}`), client.WithCache(client.CacheConfig{NoPreload: true}), strictResults)
	s.result("tools/call", `{"content":[],"structuredContent":{"b":1}}`)
	for _, err := range c.Tools(t.Context(), client.WithCacheMode(client.CacheBypass)) {
		require.NoError(t, err)
	}
	s.result("tools/list", strings.Replace(toolWith(`{"type":"object","required":["a"]}`), `{"tools"`, `{"nextCursor":"2","tools"`, 1))
	_, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		break
	}
	_, err = c.CallTool(t.Context(), "x", nil)
	require.NoError(t, err)
}
