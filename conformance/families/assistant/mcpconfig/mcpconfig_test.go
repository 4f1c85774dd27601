package mcpconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse_S4_MOUNT_05(t *testing.T) {
	t.Parallel()
	const text = `{"mcpServers":{"assistant":{"type":"http","url":"http://127.0.0.1:8000/mcp"}}}`
	c, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, text, c.String())
	for name, tt := range map[string]struct{ text, want string }{
		"streamable":    {`{"mcpServers":{"a":{"type":"streamable-http","url":"https://h/mcp"}}}`, ""},
		"stdio":         {`{"mcpServers":{"a":{"type":"stdio","command":"x","args":["y"],"env":{"A":"b"}}}}`, ""},
		"stdio by rule": {`{"mcpServers":{"a":{"command":"x"}}}`, ""},
		"no JSON":       {`{`, "mcp-config"},
		"nothing":       {`{}`, "names no server"},
		"unknown type":  {`{"mcpServers":{"a":{"type":"websocket","url":"ws://h"}}}`, `server "a": unknown type "websocket", known: http, streamable-http, stdio`},
		"no type":       {`{"mcpServers":{"a":{"url":"http://h/mcp"}}}`, "the type is missing"},
		"no url":        {`{"mcpServers":{"a":{"type":"http"}}}`, "needs an http or https url"},
		"file url":      {`{"mcpServers":{"a":{"type":"http","url":"file:///etc"}}}`, "needs an http or https url"},
		"no command":    {`{"mcpServers":{"a":{"type":"stdio"}}}`, "needs a command"},
	} {
		_, err := Parse(tt.text)
		if tt.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tt.want, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"type":"http","url":"http://h/mcp","headers":{"A":"${B}"}}}}`)
	f.Add(`{"mcpServers":{"a":{"command":"x"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		require.NoError(t, err)
		require.Equal(t, c.String(), again.String())
	})
}
