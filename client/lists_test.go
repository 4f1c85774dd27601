package client_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// list answers a paginated method from a table of cursors.
func list(s *fakeServer, method, member string, pages map[string]string) {
	s.on(method, func(req jsonrpc.Request) any {
		var p struct{ Cursor *string }
		if req.Params != nil {
			if err := json.Unmarshal(req.Params, &p); err != nil {
				return jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
			}
		}
		key := "first"
		if p.Cursor != nil {
			key = *p.Cursor
		}
		page, ok := pages[key]
		if !ok {
			return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "bad cursor", nil)
		}
		return json.RawMessage(fmt.Sprintf(`{%q:%s}`, member, page))
	})
}

func TestListsFollowCursors(t *testing.T) {
	t.Parallel()
	item := func(name string) string { return fmt.Sprintf(`{"name":%q,"uri":"x:/%s"}`, name, name) }
	tests := []struct {
		name  string
		pages map[string]string
		want  []string
		err   string
	}{
		{"one page", map[string]string{"first": `[` + item("a") + `]`}, []string{"a"}, ""},
		{"nothing", map[string]string{"first": `[]`}, nil, ""},
		{"an empty string is a cursor", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":""`, "": `[` + item("b") + `]`,
		}, []string{"a", "b"}, ""},
		{"a cursor that does not advance ends the walk", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":"x"`, "x": `[` + item("b") + `],"nextCursor":"x"`,
		}, []string{"a", "b"}, ""},
		{"a circle ends the walk", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":"x"`, "x": `[` + item("b") + `],"nextCursor":"y"`,
			"y": `[` + item("c") + `],"nextCursor":"x"`,
		}, []string{"a", "b", "c"}, ""},
		{"a null cursor is the end", map[string]string{"first": `[` + item("a") + `],"nextCursor":null`}, []string{"a"}, ""},
		{"a bad cursor starts the walk again, once", map[string]string{"first": `[` + item("a") + `],"nextCursor":"gone"`}, []string{"a"}, "bad cursor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"}}`)
			list(s, "resources/list", "resources", tt.pages)
			c, err := client.Connect(t.Context(), tr, sessionEra, client.WithRequiredCapabilities())
			require.NoError(t, err)
			var got []string
			var last error
			for r, err := range c.Resources(t.Context()) {
				if last = err; err == nil {
					got = append(got, r.Name)
				}
			}
			require.Equal(t, tt.want, got)
			if tt.err == "" {
				require.NoError(t, last)
			} else {
				require.ErrorContains(t, last, tt.err)
			}
			require.NoError(t, c.Close())
		})
	}
}

// A server whose list never ends is left after a bounded number of pages.
func TestEndlessListIsBounded(t *testing.T) {
	t.Parallel()
	c, s := connected(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	n := 0
	s.on("tools/list", func(jsonrpc.Request) any {
		n++
		return json.RawMessage(fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n))
	})
	var last error
	for _, err := range c.Tools(t.Context()) {
		last = err
	}
	require.ErrorContains(t, last, "does not end")
	require.Equal(t, 1000, s.count("tools/list"))
}

func TestListsNeedTheirCapability(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	ctx := t.Context()
	_, e1 := c.ListResources(ctx, nil)
	_, e2 := c.ListResourceTemplates(ctx, nil)
	_, e3 := c.ListPrompts(ctx, nil)
	for _, err := range []error{e1, e2, e3} {
		require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	}
	require.Equal(t, []string{"initialize", "notifications/initialized", "tools/list"}, s.methods())
}

// A refused cursor starts the walk again, once, and nothing is yielded twice. This
// holds for every list.
func TestBadCursorBeginsTheWalkAnew(t *testing.T) {
	t.Parallel()
	const caps = `{"tools":{},"resources":{},"prompts":{}}`
	for _, tt := range []struct {
		method, member string
		names          func(c *client.Client, t *testing.T) []string
	}{
		{"tools/list", "tools", func(c *client.Client, t *testing.T) []string {
			return names(t, c.Tools(t.Context()), func(x mcp.Tool) string { return x.Name })
		}},
		{"resources/list", "resources", func(c *client.Client, t *testing.T) []string {
			return names(t, c.Resources(t.Context()), func(x mcp.Resource) string { return x.URI })
		}},
		{"resources/templates/list", "resourceTemplates", func(c *client.Client, t *testing.T) []string {
			return names(t, c.ResourceTemplates(t.Context()), func(x mcp.ResourceTemplate) string { return x.URITemplate })
		}},
		{"prompts/list", "prompts", func(c *client.Client, t *testing.T) []string {
			return names(t, c.Prompts(t.Context()), func(x mcp.Prompt) string { return x.Name })
		}},
	} {
		t.Run(tt.method, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"serverInfo":{"name":"s","version":"1"}}`)
			item := func(name string) string {
				return fmt.Sprintf(`{"name":%q,"uri":%[1]q,"uriTemplate":%[1]q,"inputSchema":{"type":"object"}}`, name)
			}
			asked := 0
			s.on(tt.method, func(req jsonrpc.Request) any {
				asked++
				var p struct{ Cursor string }
				if req.Params != nil {
					if err := json.Unmarshal(req.Params, &p); err != nil {
						return jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
					}
				}
				page := fmt.Sprintf(`{%q:[%s],"nextCursor":"old"}`, tt.member, item("a"))
				switch {
				case p.Cursor == "old":
					return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "unknown cursor", nil)
				case p.Cursor == "new":
					page = fmt.Sprintf(`{%q:[%s]}`, tt.member, item("c"))
				case asked > 1: // the list has changed meanwhile
					page = fmt.Sprintf(`{%q:[%s,%s],"nextCursor":"new"}`, tt.member, item("b"), item("a"))
				}
				return json.RawMessage(page)
			})
			c, err := client.Connect(t.Context(), tr, sessionEra, client.WithCache(client.CacheConfig{NoPreload: true}))
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b", "c"}, tt.names(c, t))
			require.Equal(t, 4, s.count(tt.method))
			require.NoError(t, c.Close())
		})
	}
}

func names[T any](t *testing.T, items iter.Seq2[T, error], name func(T) string) []string {
	t.Helper()
	var got []string
	for item, err := range items {
		require.NoError(t, err)
		got = append(got, name(item))
	}
	return got
}
