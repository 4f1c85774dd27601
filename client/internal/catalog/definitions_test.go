package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func readTool(t *testing.T, text string) mcp.Tool {
	t.Helper()
	var tool mcp.Tool
	require.NoError(t, mcp.Unmarshal([]byte(text), &tool))
	return tool
}

// Changes that callers make to their list do not count as the server's, and an unchanged
// definition is only compared.
func TestObservedToolsAreOwn(t *testing.T) {
	t.Parallel()
	const text = `{"name":"x","title":"X","inputSchema":{ "type":"object",
		"properties":{"a":{"type":"string"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x":[1]},"icons":[{"src":"a:b"}],"_meta":{"k":1},"extra":{"b":2,"a":1.0}}`
	var d Definitions
	listed := readTool(t, text)
	require.Nil(t, d.Observe("", &listed, ""))
	first := d.seen[shownTool{"", "x"}]
	require.Equal(t, readTool(t, text), first.tool)

	copy(listed.InputSchema, `{"Type"`)
	copy(listed.Meta, `{"l"`)
	copy(listed.Extra[0].Value, `{"c"`)
	*listed.Annotations.ReadOnlyHint = false
	listed.Icons[0].Src = "c:d"
	again := readTool(t, text)
	require.Nil(t, d.Observe("", &again, ""), "no change")
	require.Same(t, first, d.seen[shownTool{"", "x"}])
}

// A server that changes all names in every list does not fill the memory.
func TestObservedToolsAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("names", func(t *testing.T) {
		t.Parallel()
		d := &Definitions{}
		for i := range maxDefinitions + 100 {
			d.keep(shownTool{"", fmt.Sprint(i)}, &definition{tool: mcp.Tool{Name: fmt.Sprint(i)}}, nil)
		}
		require.Len(t, d.seen, maxDefinitions)
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		d := &Definitions{}
		text := strings.Repeat("x", 1<<20)
		for i := range 2 * maxDefinitionBytes >> 20 {
			d.keep(shownTool{"", fmt.Sprint(i)}, &definition{tool: mcp.Tool{Name: fmt.Sprint(i), Description: text}}, nil)
		}
		require.LessOrEqual(t, d.bytes, maxDefinitionBytes)
		require.Len(t, d.seen, maxDefinitionBytes>>20-1)
		// A definition that grows beyond the limit is dropped.
		grown := &definition{tool: mcp.Tool{Name: "0", Description: text + text}}
		was := d.seen[shownTool{"", "0"}]
		d.keep(shownTool{"", "0"}, grown, was)
		require.NotContains(t, d.seen, shownTool{"", "0"})
	})
}
