package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestFaultsAreInWords(t *testing.T) {
	t.Parallel()
	w := schemasOf()[mcp.Version2026_07_28]
	const list = `"resultType":"complete","ttlMs":1,"cacheScope":"public"`
	for _, row := range []struct{ name, message, want string }{
		{"ProgressNotification", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":null}}`, "params.progressToken is null, not string or integer"},
		{"CallToolResult", `{"resultType":"complete","content":null}`, "content is null, not array"},
		{"CallToolResult", `{"resultType":"complete","content":[{"type":"text","text":7}]}`, "content[].text is integer, not string"},
		{"CallToolResult", `{"resultType":"complete","content":[{"type":"hologram"}]}`, "content[] is none of its types"},
		{"GetPromptResult", `{"resultType":"complete","messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`, "messages[].role is system, not one of assistant, user"},
		{"GetPromptResult", `{"resultType":"complete","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, "messages[].content is array, not object"},
		{"ListResourcesResult", `{` + list + `,"resources":[{"uri":"a:b","name":"x","description":null}]}`, "resources[].description is null, not string"},
		{"ListResourcesResult", `{` + list + `,"resources":[{"uri":"a:b"}]}`, "resources[] has no name"},
		{"ReadResourceResult", `{` + list + `,"contents":[{"uri":"a:b","data":"x"}]}`, "contents[] has no text, and no blob"},
		{"CompleteResult", `{"resultType":"complete","completion":["a"]}`, "completion is array, not object"},
		{"ListToolsResult", `{}`, "it has no cacheScope, resultType, tools, ttlMs"},
		{"CallToolResult", `{"resultType":"complete","content":[{"type":"text","text":{"validating /x/items: ":"type"}}]}`, "content[].text is object, not string"},
	} {
		require.Equal(t, row.want+" ("+row.name+")", w.fault(row.name, []byte(row.message)), row.message)
	}
}
