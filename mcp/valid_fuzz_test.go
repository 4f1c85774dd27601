package mcp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// UnmarshalValid gives the same values and errors as Unmarshal for valid JSON.
func FuzzUnmarshalValid(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a\nb","title":"","inputSchema":{"a":"}\\\"]","b":[1.5e3,null]},"outputSchema":null,"annotations":{"readOnlyHint":true,"x":-1},"icons":[{"src":"s"}]}],"resultType":"complete","ttlMs":60000,"cacheScope":"private","nextCursor":"","x":[]}`))
	f.Add([]byte(" {\t\"tools\" : [ { \"name\" : \"a\" , \"inputSchema\" : { } } , {\"name\":\"b\",\"inputSchema\":[ ]\r\n} ] ,\n\"ttlMs\" : 1 } "))
	f.Add([]byte(`{"tools":null,"ttlMs":60000.0,"_meta":{"a":{"b":{}}}}`))
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{}},7]}`))
	f.Add([]byte(`{"tools":[{"name":true}]}`))
	f.Add([]byte(`{"tools":{},"ttlMs":"1"}`))
	f.Add([]byte(`{"tools":[{"name":"a","annotations":{"title":"\u0041\\","readOnlyHint":0}}],"ttlMs":1e400}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`7`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := jsonrpc.AppendValue(nil, data); err != nil {
			// Invalid JSON: anything except a panic or an endless loop.
			_ = UnmarshalValid(bytes.Clone(data), &ListToolsResult{})
			return
		}
		var strict, quick ListToolsResult
		want := Unmarshal(bytes.Clone(data), &strict)
		require.Equal(t, want, UnmarshalValid(bytes.Clone(data), &quick))
		if want == nil {
			require.Equal(t, strict, quick)
		}
	})
}
