package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func describing(description string) string {
	return fmt.Sprintf(`{"tools":[{"name":"x","description":%q,"inputSchema":{"type":"object","properties":{"a":{},"b":{}}}},{"name":"y","inputSchema":{"type":"object"}}]}`, description)
}

func drifts(into *[]client.ToolDrift) client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		if d, ok := e.(client.ToolDrift); ok {
			*into = append(*into, d)
		}
	})
}

// A tool whose definition changes is reported once, with the changed members; a
// definition that is only formatted differently is not.
func TestToolDrift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []client.ToolDrift
		c, s := ofVersion(t, "2025-11-25", describing("fetch a page"), drifts(&seen))
		list := func(tools string) {
			s.result("tools/list", tools)
			c.InvalidateTools()
			_, err := c.GetToolSchema(t.Context(), "y")
			require.NoError(t, err)
			synctest.Wait()
		}
		list(describing("fetch a page"))
		list(`{"tools":[{"inputSchema":{"properties":{"b":{}, "a":{}},"type":"object"},"description":"fetch a page","name":"x","_meta":{"at":"noon"}},{"name":"y","inputSchema":{"type":"object"}}]}`)
		require.Empty(t, seen)

		list(describing("fetch a page and send it on"))
		require.Len(t, seen, 1)
		require.Equal(t, "x", seen[0].Tool)
		require.Equal(t, []string{"description"}, seen[0].Changed)
		require.Equal(t, "fetch a page", seen[0].Before.Description)
		require.Equal(t, []string{seen[0].Before.Fingerprint(), seen[0].After.Fingerprint()}, []string{seen[0].Old, seen[0].New})
		require.NotEqual(t, seen[0].Old, seen[0].New)
		require.False(t, seen[0].Pinned)
		list(describing("fetch a page and send it on"))
		require.Len(t, seen, 1, "once")

		// Gone for one list and back is the same name still; two of one name
		// are the first.
		list(`{"tools":[{"name":"y","inputSchema":{"type":"object"}}]}`)
		list(`{"tools":[{"name":"y","inputSchema":{"type":"object"}},{"name":"y","inputSchema":{"type":"string"}},{"name":"x","title":"X","inputSchema":{"type":"object"}}]}`)
		require.Len(t, seen, 2)
		require.Equal(t, []string{"description", "inputSchema", "title"}, seen[1].Changed)

		// The application's own walks count, too.
		s.result("tools/list", `{"tools":[{"name":"y","description":"new","inputSchema":{"type":"object"}}]}`)
		for _, err := range c.Tools(t.Context(), client.WithCacheMode(client.CacheRefresh)) {
			require.NoError(t, err)
		}
		_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheBypass))
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, seen, 3)
	})
}

// A tool that differs from its pin is reported when it is listed, and with
// BlockDrift not called, until its definition is the pinned one again.
func TestToolPins(t *testing.T) {
	t.Parallel()
	good := mcp.Tool{Name: "x"}
	require.NoError(t, good.UnmarshalJSON([]byte(`{"name":"x","description":"fetch a page","inputSchema":{"type":"object","properties":{"a":{},"b":{}}}}`)))
	pins := map[string]string{"x": good.Fingerprint()}
	for _, block := range []bool{false, true} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen []client.ToolDrift
				c, s := ofVersion(t, "2025-11-25", describing("fetch a page and send it on"), drifts(&seen), client.WithCache(client.CacheConfig{Pins: pins, BlockDrift: block}))
				s.result("tools/call", `{"content":[]}`)
				synctest.Wait()
				require.Len(t, seen, 1)
				require.True(t, seen[0].Pinned)
				require.Equal(t, pins["x"], seen[0].Old)

				_, err := c.CallTool(t.Context(), "x", nil)
				require.Equal(t, block, err != nil)
				if err != nil {
					var fault *client.PinError
					require.ErrorAs(t, err, &fault)
					require.Equal(t, client.PinError{Tool: "x", Pinned: pins["x"], Current: seen[0].New}, *fault)
					var e *mcperrors.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, []any{mcperrors.CodeMissingCapability, mcperrors.NotSent}, []any{e.Code, e.Delivery})
					require.Zero(t, s.count("tools/call"))
				}
				// In the caller's own words it is the same call.
				for _, name := range []string{"x", `\u0078`} {
					before := s.count("tools/call")
					_, err = c.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"`+name+`"}`))
					require.Equal(t, block, err != nil)
					require.Equal(t, block, s.count("tools/call") == before)
					var fault *client.PinError
					require.Equal(t, err != nil, errors.As(err, &fault))
				}
				_, err = c.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"y"}`))
				require.NoError(t, err, "has no pin")
				_, err = c.CallTool(t.Context(), "y", nil)
				require.NoError(t, err, "has no pin")

				s.result("tools/list", describing("fetch a page"))
				c.InvalidateTools()
				_, err = c.CallTool(t.Context(), "x", nil)
				require.NoError(t, err)
				_, err = c.GetToolSchema(t.Context(), "x")
				require.NoError(t, err)
				synctest.Wait()
				require.Len(t, seen, 2)
				require.False(t, seen[1].Pinned, "back to what was approved")
			})
		})
	}
	tr, _ := newFake(t)
	_, err := client.Connect(t.Context(), tr, client.WithCache(client.CacheConfig{Pins: map[string]string{"x": "abc"}, BlockDrift: true}))
	require.ErrorContains(t, err, `the pin of tool "x" is not a fingerprint`)
}

// A pinned tool that is not on the list cannot be looked at, so it is not called.
func TestPinnedToolThatIsGone(t *testing.T) {
	t.Parallel()
	c, s := ofVersion(t, "2025-11-25", describing(""), client.WithCache(client.CacheConfig{NoPreload: true}),
		client.WithCache(client.CacheConfig{Pins: map[string]string{"z": "sha256:00"}, BlockDrift: true}))
	_, err := c.CallTool(t.Context(), "z", nil)
	require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
	require.Zero(t, s.count("tools/call"))
}

// Names are free text, the order is the server's, and people see the title.
func TestToolListDetails(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c, s := ofVersion(t, version, `{"tools":[
			{"name":"zeta","inputSchema":{"type":"object"},"annotations":{"title":"Z"}},
			{"name":"天气 ?","title":"Weather","inputSchema":{"type":"object"},"annotations":{"title":"no"}},
			{"name":"","inputSchema":{"type":"object"}},
			{"name":"alpha","description":"first","inputSchema":{"type":"object"}},
			{"name":"alpha","description":"second","inputSchema":{"type":"object"}}]}`)
		s.result("tools/call", `{"structuredContent":{"a":1}}`)
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			require.NoError(t, err)
			names = append(names, tool.DisplayName())
		}
		require.Equal(t, []string{"Z", "Weather", "", "alpha", "alpha"}, names)
		first, err := c.GetToolSchema(t.Context(), "alpha")
		require.NoError(t, err)
		require.Equal(t, "first", first.Description)
		res, err := c.CallTool(t.Context(), "天气 ?", nil)
		require.NoError(t, err, "content may be missing beside structured content (TOOL-13)")
		require.Nil(t, res.Content)
		require.Contains(t, s.received()[len(s.received())-1], `"name":"天气 ?"`)
	}
}
