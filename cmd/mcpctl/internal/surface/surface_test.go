package surface_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                       surface.ErrOther.Error(),
		`[]`:                                     surface.ErrOther.Error(),
		`{"mcpServers":{}}`:                      surface.ErrOther.Error(),
		`{"kind":"mcpctl.surface","version":2}`:  "it is a snapshot of version 2, and this mcpctl reads version 1",
		`{"kind":"mcpctl.surface"}`:              "it is a snapshot of version null, and this mcpctl reads version 1",
		`{"kind":"mcpctl.surface","version":1,}`: "line 1 column 38",
	} {
		_, err := surface.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	s, err := surface.Parse([]byte(`{"kind":"mcpctl.surface","version":1}`))
	require.NoError(t, err)
	require.Equal(t, "nothing", s.Counts())
	require.Empty(t, s.Server())
}

// The line of an item is that of its name in its own list.
func TestLine(t *testing.T) {
	t.Parallel()
	s, err := surface.Parse([]byte(`{
  "kind": "mcpctl.surface",
  "version": 1,
  "tools": [
    {
      "annotations": {},
      "name": "a"
    },
    {
      "name": "b\u001b",
      "inputSchema": {
        "name": "c"
      }
    }
  ],
  "prompts": [
    {
      "name": "a"
    }
  ]
}`))
	require.NoError(t, err)
	tools, prompts := listing.Lists[0], listing.Lists[3]
	require.Equal(t, 7, s.Line(tools, "a"))
	require.Equal(t, 10, s.Line(tools, "b\x1b"))
	require.Equal(t, 18, s.Line(prompts, "a"))
	require.Equal(t, 1, s.Line(tools, "c"))
	require.Equal(t, "2 tools, 1 prompt", s.Counts())
}
