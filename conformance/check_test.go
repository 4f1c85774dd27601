package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestSpecURL(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		"basic/lifecycle#initialization": "https://modelcontextprotocol.io/specification/" + string(mcp.Version2025_11_25) + "/basic/lifecycle#initialization",
		"jsonrpc#error_object":           "https://www.jsonrpc.org/specification#error_object",
		"extensions/tasks#task-polling":  "https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md#task-polling",
		"":                               "",
	} {
		require.Equal(t, want, Spec{Section: section}.URL(mcp.Version2025_11_25), section)
	}
	require.Empty(t, Spec{Section: "basic#messages"}.URL(""))
}
