package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each tool of a page has its own annotations, although they share a block of
// memory. Retries depend on them.
func TestAnnotationsOfAPageAreApart(t *testing.T) {
	t.Parallel()
	const count = 200
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, `,{"name":"t%d","inputSchema":{},"annotations":{"title":"T%d","readOnlyHint":%t,"idempotentHint":%t}}`, i, i, i%2 == 0, i%3 == 0)
	}
	var page ListToolsResult
	require.NoError(t, Unmarshal([]byte(`{"tools":[`+text.String()[1:]+`]}`), &page))
	require.Len(t, page.Tools, count)
	for i, tool := range page.Tools {
		require.Equal(t, fmt.Sprintf("T%d", i), tool.Annotations.Title)
		require.Equal(t, i%2 == 0, *tool.Annotations.ReadOnlyHint, tool.Name)
		require.Equal(t, i%3 == 0, *tool.Annotations.IdempotentHint, tool.Name)
		require.Nil(t, tool.Annotations.DestructiveHint)
	}
}
