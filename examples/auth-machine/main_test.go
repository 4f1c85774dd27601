package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/authtest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestMachine(t *testing.T) {
	w := authtest.New(t)
	args := []string{w.MCP.URL + "/mcp", "echo", "{}"}
	env := map[string]string{"MCP_CLIENT_ID": "robot", "MCP_ISSUER": w.AS.URL, "MCP_CLIENT_SECRET": "robot-planted-secret"}
	get := func(name string) string { return env[name] }
	var out strings.Builder
	require.NoError(t, run(t.Context(), args, get, &out))
	require.Equal(t, "done\n", out.String())
	require.Equal(t, 1, w.Asked("client_credentials"))

	env["MCP_ISSUER"] = "https://other.example"
	require.ErrorContains(t, run(t.Context(), args, get, &out), "the client belongs to https://other.example")
	delete(env, "MCP_CLIENT_SECRET")
	require.ErrorContains(t, run(t.Context(), args, get, &out), "set MCP_CLIENT_SECRET, MCP_CLIENT_KEY or MCP_CLIENT_TOKEN")
	env["MCP_CLIENT_KEY"] = t.TempDir() + "/missing.pem"
	require.ErrorContains(t, run(t.Context(), args, get, &out), "missing.pem")
	env["MCP_CLIENT_TOKEN"], env["MCP_ISSUER"] = t.TempDir()+"/token", w.AS.URL
	require.ErrorContains(t, run(t.Context(), args, get, &out), "the platform gives no token")
	require.NoError(t, os.WriteFile(env["MCP_CLIENT_TOKEN"], []byte("a.b.c\n"), 0o600))
	require.NoError(t, run(t.Context(), args, get, &out))
	require.Equal(t, "done\ndone\n", out.String())
	env["MCP_CLIENT_ID"] = ""
	require.ErrorContains(t, run(t.Context(), args, get, &out), "set MCP_CLIENT_ID")
	require.ErrorContains(t, run(t.Context(), nil, get, &out), "usage")
}
