package client

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func observer(t *testing.T) *Client {
	t.Helper()
	cfg, err := newConfig([]Option{OnEvent(func(context.Context, Event) {})})
	require.NoError(t, err)
	c := newClient(cfg, &transport.Stream{})
	t.Cleanup(c.work.Wait) // the events are taken
	return c
}

func readTool(t *testing.T, text string) mcp.Tool {
	t.Helper()
	var tool mcp.Tool
	require.NoError(t, mcp.Unmarshal([]byte(text), &tool))
	return tool
}

// What callers do to a list they got is not taken for the server's doing, and a
// definition that stays the same is compared and nothing more (CACHE-14).
func TestObservedToolsAreOwn(t *testing.T) {
	t.Parallel()
	const text = `{"name":"x","title":"X","inputSchema":{ "type":"object",
		"properties":{"a":{"type":"string"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x":[1]},"icons":[{"src":"a:b"}],"_meta":{"k":1},"extra":{"b":2,"a":1.0}}`
	c := observer(t)
	listed := readTool(t, text)
	c.observe("", &listed)
	first := c.definitions.get().seen[shownTool{"", "x"}]
	require.Equal(t, readTool(t, text), first.tool)

	copy(listed.InputSchema, `{"Type"`)
	copy(listed.Meta, `{"l"`)
	copy(listed.Extra[0].Value, `{"c"`)
	*listed.Annotations.ReadOnlyHint = false
	listed.Icons[0].Src = "c:d"
	again := readTool(t, text)
	c.observe("", &again)
	require.Same(t, first, c.definitions.get().seen[shownTool{"", "x"}])
	require.Nil(t, c.notifiers.peek(), "no event")
}

// A server whose names change with every list does not fill the memory (SEC-10).
func TestObservedToolsAreBounded(t *testing.T) {
	t.Parallel()
	skipLarge(t)
	t.Run("names", func(t *testing.T) {
		t.Parallel()
		d := &definitions{}
		for i := range maxItems + 100 {
			d.keep(shownTool{"", fmt.Sprint(i)}, &definition{tool: mcp.Tool{Name: fmt.Sprint(i)}}, nil)
		}
		require.Len(t, d.seen, maxItems)
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		d := &definitions{}
		text := strings.Repeat("x", 1<<20)
		for i := range 2 * maxBytes >> 20 {
			d.keep(shownTool{"", fmt.Sprint(i)}, &definition{tool: mcp.Tool{Name: fmt.Sprint(i), Description: text}}, nil)
		}
		require.LessOrEqual(t, d.bytes, maxBytes)
		require.Len(t, d.seen, maxBytes>>20-1)
		// One that grows beyond what there is room for is forgotten, not kept.
		grown := &definition{tool: mcp.Tool{Name: "0", Description: text + text}}
		was := d.seen[shownTool{"", "0"}]
		d.keep(shownTool{"", "0"}, grown, was)
		require.NotContains(t, d.seen, shownTool{"", "0"})
	})
}
