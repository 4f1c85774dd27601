package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var plainResults = []string{
	`{"content":[{"type":"text","text":"hi"}]}`,
	`{"content":[{"type":"text","text":""}],"isError":false}`,
	`{"isError":false,"content":[{"type":"text","text":"a b"}],"resultType":"complete"}`,
	`{"resultType":"complete","content":[{"type":"text","text":"{}"}]}`,
}

// What is read at once is what the codec reads, marks included.
func TestPlainResultIsWhatTheCodecReads(t *testing.T) {
	t.Parallel()
	for _, text := range plainResults {
		var got, want CallToolResult
		require.True(t, got.readPlain([]byte(text)), text)
		require.NoError(t, Unmarshal([]byte(text), &want))
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		``, `{`, `{}`, `{"content":[]}`, `{"content":[{"type":"text","text":"hi"}]`, `{"content":[{"type":"text","text":"hi"}]} `,
		`{"content":[{"type":"text","text":"a\nb"}]}`, `{"content":[{"type":"text","text":"ä"}]}`, "{\"content\":[{\"type\":\"text\",\"text\":\"a\x01\"}]}",
		`{"content":[{"type":"text","text":"hi"}],"isError":true}`, `{"content":[{"type":"text","text":"hi"}],"isError":false,"isError":false}`,
		`{"content":[{"type":"text","text":"hi"}],}`, `{"content":[{"type":"text","text":"hi"},{"type":"text","text":"ho"}]}`,
		`{"content":[{"type":"text","text":"hi"}],"content":[{"type":"text","text":"hi"}]}`, `{"isError":false}`,
		`{"content":[{"type":"text","text":"hi"}],"structuredContent":{}}`, `{"content":[{"type":"text","text":"hi`,
	} {
		var got CallToolResult
		require.False(t, got.readPlain([]byte(text)), text)
		require.Equal(t, CallToolResult{}, got, "nothing was changed")
	}
}

func FuzzPlainResult(f *testing.F) {
	for _, text := range plainResults {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want CallToolResult
		if got.readPlain(data) {
			require.NoError(t, Unmarshal(data, &want))
			require.Equal(t, want, got)
		}
	})
}
