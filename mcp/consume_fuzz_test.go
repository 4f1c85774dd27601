package mcp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Consume reads the same values as Unmarshal, and they are written back in the same way.
func FuzzConsume(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a\nb\ud83d\ude00\ud800x"},{"type":"image","data":"aa\/\/","mimeType":"\u0041"},{"type":"resource","resource":{"uri":"\u0041","text":"\n"}}],"structuredContent":{"a":"\n","b":[1.50]},"_meta":{"x":"\n"},"isError":false,"zz":"\n\u0041"}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","id":"\n","name":"\n","input":{"a":"\n"}},{"type":"weird","x":"\n","y":{"b":"\u0041"}}],"x\n":"y\n","\u0041b":1}`))
	f.Add([]byte("{\"content\":[{\"type\":\"text\",\"text\":\"\xff\\n\\n\xfe\"}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := jsonrpc.AppendValue(nil, data); err != nil {
			return // Consume accepts valid JSON only
		}
		var kept, consumed CallToolResult
		err1 := Unmarshal(bytes.Clone(data), &kept)
		err2 := Consume(bytes.Clone(data), &consumed)
		require.Equal(t, err1, err2)
		if err1 != nil {
			return
		}
		require.Equal(t, kept, consumed)
		raw1, err1 := Marshal(&kept)
		raw2, err2 := Marshal(&consumed)
		require.Equal(t, err1, err2)
		require.Equal(t, string(raw1), string(raw2))
	})
}
