package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// results are what servers answer, plain or not.
var results = []string{
	`{"content":[{"type":"text","text":"hello"}]}`,
	`{"content":[{"type":"text","text":""}],"isError":false}`,
	`{"isError":false,"content":[{"type":"text","text":"é 世界"}]}`,
	`{"content":[{"type":"text","text":"x"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a}b","version":"1"}}}`,
	`{"_meta":{},"content":[{"type":"text","text":"x"}]}`,
	`{"_meta":{"a":{"b":[{}]}},"resultType":"complete","isError":false,"content":[{"type":"text","text":"}]"}]}`,
	`{"content":[{"type":"text","text":"x"}],"isError":true}`,
	`{"content":[{"type":"text","text":"x","annotations":{}}]}`,
	`{"content":[{"text":"x","type":"text"}]}`,
	`{"content":[{"type":"text","text":"a\nb"}]}`,
	`{"content": [{"type":"text","text":"x"}]}`,
	`{"content":[{"type":"text","text":"x"}],"extra":1}`,
	`{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`,
	`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`,
	`{"content":[],"isError":false}`,
	`{"resultType":"complete"}`, `{}`, `[]`, `null`, `"content"`,
	`{"content":[{"type":"text","text":"x"}],"resultType":"weird"}`,
	`{"content":[{"type":"text","text":"x"}],"_meta":null}`,
}

// A result is read the same with and without the shortcut.
func TestPlainResult(t *testing.T) {
	t.Parallel()
	plain := 0
	for _, data := range results {
		var v CallToolResult
		if plainResult([]byte(data), &v) {
			plain++
		}
		sameResult(t, data)
	}
	require.Equal(t, 6, plain)
}

func sameResult(t *testing.T, data string) {
	t.Helper()
	var quick, strict CallToolResult
	err := Consume([]byte(data), &quick)
	want := decode([]byte(data), &strict)
	if want != nil {
		require.Error(t, err, data)
		return
	}
	require.NoError(t, err, data)
	require.Equal(t, strict, quick, data)
	again, err := Marshal(&quick)
	require.NoError(t, err)
	expected, err := Marshal(&strict)
	require.NoError(t, err)
	require.Equal(t, string(expected), string(again))
}

func FuzzPlainResult(f *testing.F) {
	for _, data := range results {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		// Consume gets results of decoded messages.
		m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"result":` + data + `}`))
		if err != nil {
			return
		}
		if resp, ok := m.(jsonrpc.Response); ok && resp.Error == nil {
			sameResult(t, string(resp.Result))
		}
	})
}
