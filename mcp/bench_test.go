package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

var oneText = []byte(`{"content":[{"type":"text","text":"hello, world"}]}`)

// toolsPage is a page of n tools with schemas of usual size.
func toolsPage(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool %d","description":"Does thing number %d, and returns a summary.",`, i, i, i)
		b.WriteString(`"inputSchema":{"type":"object","properties":{`)
		for j := range 12 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"property_%d":{"type":"string","description":"The value of property %d.","minLength":%d}`, j, j, j)
		}
		b.WriteString(`},"required":["property_0"]},"outputSchema":{"type":"object"}}`)
	}
	b.WriteString(`],"nextCursor":"next"}`)
	return b.Bytes()
}

// TestAllocs limits the allocations of the functions that every call uses.
func TestAllocs(t *testing.T) {
	// Not parallel: other tests would count.
	if testmain.Race {
		t.Log("the race detector allocates on its own; the gates are measured without it")
		return
	}
	result := testing.AllocsPerRun(200, func() {
		var v CallToolResult
		if err := Unmarshal(oneText, &v); err != nil || v.Text() != "hello, world" {
			t.Fatal("not decoded")
		}
	})
	require.LessOrEqual(t, result, 3.0, "a result with one text block")

	page := toolsPage(1000)
	list := testing.AllocsPerRun(5, func() {
		var v ListToolsResult
		if err := Unmarshal(page, &v); err != nil || len(v.Tools) != 1000 {
			t.Fatal("not decoded")
		}
	})
	require.LessOrEqual(t, list, 1000.0, "a page of 1,000 tools")

	capabilities := ServerCapabilities{Tools: &ListChangedCapability{}}
	require.Zero(t, testing.AllocsPerRun(200, func() { capabilities.Has("tools") }), "the gate of every call")
	require.Zero(t, testing.AllocsPerRun(200, func() { PeekResultType(oneText) }), "the result type of every answer")
	t.Logf("result %v, page %v", result, list)
}

func BenchmarkDecodeCallToolResult(b *testing.B) {
	for _, bb := range []struct {
		name string
		data []byte
	}{
		{"one text", oneText},
		{"type last", []byte(`{"content":[{"text":"hello, world","type":"text"}],"isError":false}`)},
		{"64 KiB text", []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("abcdefghijklmno ", 4096) + `"}]}`)},
		{"64 KiB escaped", []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(`abcdefghijklmn\n`, 4096) + `"}]}`)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bb.data)))
			for b.Loop() {
				var v CallToolResult
				if err := Unmarshal(bb.data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeToolsPage1000(b *testing.B) {
	page := toolsPage(1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		var v ListToolsResult
		if err := Unmarshal(page, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeCallToolResult(b *testing.B) {
	v := CallToolResult{Content: []Content{&TextContent{Text: "hello, world"}}, StructuredContent: json.RawMessage(`{"a":[1,2,3]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeToolsPage1000(b *testing.B) {
	var v ListToolsResult
	require.NoError(b, Unmarshal(toolsPage(1000), &v))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
}
