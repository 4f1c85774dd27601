package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestIdempotent(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]bool{
		mcp.MethodToolsList: true, mcp.MethodInitialize: true, mcp.MethodTasksCancel: true,
		mcp.MethodToolsCall: false, "x/unheard": false, "": false,
	} {
		require.Equal(t, want, mcp.Idempotent(method), method)
	}
}
