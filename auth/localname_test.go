package auth_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// A server on this machine that calls itself by another name than the program is reached
// by that name. The address of another server is not proposed.
func TestOtherNameOfThisMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ resource, help string }{
		{"http://localhost:PORT/mcp", "use http://localhost:PORT/mcp, which the server calls itself"},
		{"http://localhost:PORT", "use http://localhost:PORT/mcp, which the server calls itself"},
		{"http://localhost:1/mcp", "mcpctl auth inspect"},
		{"https://localhost:PORT/mcp", "mcpctl auth inspect"},
		{"http://evil.example:PORT/mcp", "mcpctl auth inspect"},
	} {
		w := authtest.New(t)
		port := w.MCP.URL[strings.LastIndex(w.MCP.URL, ":")+1:]
		w.Resource["resource"] = strings.Replace(tt.resource, "PORT", port, 1)
		_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(auth.HandOff()))
		var why *auth.Error
		require.ErrorAs(t, err, &why)
		require.Contains(t, why.Help, strings.Replace(tt.help, "PORT", port, 1), tt.resource)
		tell(err)
	}
}
