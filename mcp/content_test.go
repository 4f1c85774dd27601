package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContentBlocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		want Content
	}{
		{"text", `{"type":"text","text":"a"}`, &TextContent{Text: "a"}},
		{"type last", `{"text":"a","type":"text"}`, &TextContent{Text: "a"}},
		{"type after a trap", `{"annotations":{"type":"image","x":["type",{"type":"audio"}]},"text":"\"type\":\"image\"","type":"text"}`, nil},
		{"type by escapes", `{"t\u0079pe":"te\u0078t","text":"a"}`, &TextContent{Text: "a"}},
		{"white space", "{ \"type\" :\n\t\"text\" , \"text\": \"a\" }", &TextContent{Text: "a"}},
		{"image", `{"type":"image","data":"aGk=","mimeType":"image/png"}`, &ImageContent{Data: "aGk=", MIMEType: "image/png"}},
		{"audio", `{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`, &AudioContent{Data: "aGk=", MIMEType: "audio/wav"}},
		{
			"link", `{"type":"resource_link","uri":"a:b","name":"n","size":7}`,
			&ResourceLink{URI: "a:b", Name: "n", Size: ref(int64(7))},
		},
		{
			"embedded text", `{"type":"resource","resource":{"uri":"a:b","text":""},"annotations":{"audience":["user"],"priority":0}}`,
			&EmbeddedResource{
				Resource:    ResourceContents{URI: "a:b", Text: ref("")},
				Annotations: &Annotations{Audience: []Role{RoleUser}, Priority: ref(0.0)},
			},
		},
		{
			"embedded blob", `{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"aGk="}}`,
			&EmbeddedResource{Resource: ResourceContents{URI: "a:b", MIMEType: "x/y", Blob: ref("aGk=")}},
		},
		{"tool use", `{"type":"tool_use","id":"1","name":"n","input":{"a":1}}`, &ToolUseContent{ID: "1", Name: "n", Input: json.RawMessage(`{"a":1}`)}},
		{
			"tool result", `{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"a"}],"isError":true}`,
			&ToolResultContent{ToolUseID: "1", Content: []Content{&TextContent{Text: "a"}}, IsError: true},
		},
		{"unknown", `{"type":"video","data":[1.0]}`, &RawContent{Type: "video", Raw: json.RawMessage(`{"type":"video","data":[1.0]}`)}},
		{"other case", `{"type":"Text","text":5}`, &RawContent{Type: "Text", Raw: json.RawMessage(`{"type":"Text","text":5}`)}},
		{"no type", `{"text":"a"}`, &RawContent{Raw: json.RawMessage(`{"text":"a"}`)}},
		{"type of another kind", `{"type":1}`, &RawContent{Raw: json.RawMessage(`{"type":1}`)}},
		{"empty", `{}`, &RawContent{Raw: json.RawMessage(`{}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := UnmarshalContent([]byte(tt.in))
			require.NoError(t, err)
			if tt.want != nil {
				require.Equal(t, tt.want, got)
				require.Equal(t, tt.want.ContentType(), got.ContentType())
			} else {
				require.IsType(t, &TextContent{}, got)
			}
			out, err := Marshal(got)
			require.NoError(t, err)
			requireSameJSON(t, []byte(tt.in), out)
			std, err := json.Marshal(got)
			require.NoError(t, err)
			requireSameJSON(t, []byte(tt.in), std)
			raw := &RawContent{}
			require.NoError(t, json.Unmarshal([]byte(tt.in), raw))
			require.Equal(t, got.ContentType(), raw.ContentType())
			requireSameJSON(t, []byte(tt.in), raw.Raw)
		})
	}
}

func TestContentRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"text missing", `{"content":[{"type":"text"}]}`, "content[0].text: missing"},
		{"text of another kind", `{"content":[{"type":"text","text":"a"},{"type":"text","text":["a"]}]}`, "content[1].text: want a string, got a list"},
		{"data missing", `{"content":[{"type":"image"}]}`, "content[0].data: missing"},
		{"block of another kind", `{"content":["a"]}`, "content[0]: want an object, got a string"},
		{"null block", `{"content":[null]}`, "content[0]: want an object, got null"},
		{"content of another kind", `{"content":{"type":"text","text":"a"}}`, "content: want a list, got an object"},
		{"content missing", `{}`, "content: missing"},
		{"uri missing", `{"content":[{"type":"resource","resource":{}}]}`, "content[0].resource.uri: missing"},
		{"duplicate in an unknown block", `{"content":[{"type":"x","a":1,"a":2}]}`, "content[0]: duplicate"},
		{"isError", `{"content":[],"isError":"true"}`, "isError: want a boolean, got a string"},
		{"type repeated", `{"content":[{"type":"text","text":"a","type":"image"}]}`, "content[0]: duplicate"},
		{"unfinished", `{"content":[{"type":"text","text":"a`, "content[0].text"},
		{"unfinished name", `{"content":[{"type`, "content[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v CallToolResult
			require.ErrorContains(t, Unmarshal([]byte(tt.in), &v), tt.want)
		})
	}
}

// TestContentWhereItMayStand keeps blocks raw where the schema does not allow them, so
// that the nesting of typed blocks is limited.
func TestContentWhereItMayStand(t *testing.T) {
	t.Parallel()
	var r CallToolResult
	require.NoError(t, Unmarshal([]byte(`{"content":[{"type":"tool_use","id":1}]}`), &r))
	require.IsType(t, &RawContent{}, r.Content[0])
	var m SamplingMessage
	require.NoError(t, Unmarshal([]byte(`{"role":"user","content":[{"type":"resource_link"},{"type":"tool_use","id":"1","name":"n","input":{}}]}`), &m))
	require.IsType(t, &RawContent{}, m.Content[0])
	require.IsType(t, &ToolUseContent{}, m.Content[1])

	const nested = 3000
	deep := strings.Repeat(`{"type":"tool_result","toolUseId":"1","content":[`, nested) + strings.Repeat(`]}`, nested)
	got, err := UnmarshalContent([]byte(deep))
	require.NoError(t, err)
	require.IsType(t, &RawContent{}, got.(*ToolResultContent).Content[0])
}

func TestBytes(t *testing.T) {
	t.Parallel()
	image, err := (&ImageContent{Data: "aGk="}).Bytes()
	require.NoError(t, err)
	require.Equal(t, "hi", string(image))
	_, err = (&AudioContent{Data: "not base64"}).Bytes()
	require.Error(t, err)
	for _, tt := range []struct {
		in   ResourceContents
		want string
	}{
		{ResourceContents{Text: ref("hi")}, "hi"},
		{ResourceContents{Blob: ref("aGk=")}, "hi"},
		{ResourceContents{}, ""},
	} {
		got, err := tt.in.Bytes()
		require.NoError(t, err)
		require.Equal(t, tt.want, string(got))
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   []Content
		want string
	}{
		{nil, ""},
		{[]Content{&TextContent{Text: "a"}}, "a"},
		{[]Content{&ImageContent{}}, ""},
		{[]Content{&TextContent{Text: "a"}, &ImageContent{}, &TextContent{}, &TextContent{Text: "b"}}, "a\n\nb"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, (&CallToolResult{Content: tt.in}).Text())
	}
}

func TestPeekResultType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want ResultType
		ok   bool
	}{
		{`{}`, "", false},
		{`{"content":[{"resultType":"task"}],"x":"resultType"}`, "", false},
		{`{"content":["}"],"resultType":"complete"}`, ResultComplete, true},
		{`{"a":"\\\"","resultType" : "input_required"}`, ResultInputRequired, true},
		{` {"resultType":"task"}`, ResultTask, true},
		{`{"resultType":"weird"}`, "weird", true},
		{`{"ResultType":"weird"}`, "", false},
		{`{"resultType":7}`, "", true},
		{`{"resultType":""}`, "", true},
		{`[]`, "", false},
		{``, "", false},
		{`{"a`, "", false},
		{`{"resultType":"a`, "", true},
	}
	for _, tt := range tests {
		kind, ok := PeekResultType([]byte(tt.in))
		require.Equal(t, tt.want, kind, tt.in)
		require.Equal(t, tt.ok, ok, tt.in)
	}
}
