package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// logInAt logs in to a server from a script.
func logInAt(t *testing.T, folder string, server ...string) {
	t.Helper()
	code, stdout, stderr := script(t, folder, "", append([]string{"auth", "login"}, server...)...)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	address := visit(t, pageOfLogin.FindString(stdout))
	code, _, stderr = script(t, folder, address, append([]string{"auth", "login", "--finish", "@-"}, server...)...)
	require.Zero(t, code, stderr)
}

// Servers of a file have tokens of their own, and a header in the file wins over them.
func TestAuthServersOfAFile(t *testing.T) {
	t.Parallel()
	one, two := authtest.New(t), authtest.New(t)
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "tokens"), filepath.Join(dir, "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {
		"one": {"url": "`+one.MCP.URL+`/mcp"},
		"two": {"url": "`+two.MCP.URL+`/mcp"},
		"own": {"url": "`+one.MCP.URL+`/mcp", "headers": {"Authorization": "Bearer mine"}}
	}}`), 0o600))

	logInAt(t, folder, file+"#one")
	code, _, stderr := script(t, folder, "", "call", file+"#one", "echo")
	require.Zero(t, code, stderr)
	code, _, stderr = script(t, folder, "", "call", file+"#two", "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "mcpctl auth login '"+file+"#two'\n")

	logInAt(t, folder, file+"#two", "--profile", "work")
	code, _, stderr = script(t, folder, "", "call", file+"#two", "echo", "--auth", "profile:work")
	require.Zero(t, code, stderr)
	code, _, stderr = script(t, folder, "", "call", file+"#one", "echo")
	require.Zero(t, code, stderr)

	code, _, stderr = script(t, folder, "", "call", file+"#own", "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, "the header of the file is sent, which is wrong")
	require.NotContains(t, stderr, "wants a login")
	code, _, stderr = script(t, folder, "", "call", "-s", file+"#one", "echo", "--auth", "none")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
}

// The suite reaches a server with the stored token, which is renewed while the run goes on.
func TestConformWithStoredTokens(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	conform := func(more ...string) (int, string, string) {
		return script(t, folder, "", append([]string{"conform", "server", url, "--only", "TOOL-01*", "--timeout", "5s"}, more...)...)
	}
	code, _, stderr := conform()
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "mcpctl auth login "+url)

	logInAt(t, folder, url)
	w.Revoke()
	code, stdout, stderr := conform()
	require.Zero(t, code, stdout+stderr)
	require.Equal(t, 1, w.Asked("refresh_token"))
	require.NotContains(t, stdout, "planted-secret")
	report := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr = conform("--report", "json="+report, "-v")
	require.Zero(t, code, stdout+stderr)
	require.NotContains(t, stdout+stderr, "planted-secret")
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.NotContains(t, string(text), "planted-secret")

	code, _, stderr = conform("--auth", "none")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = conform("--auth", "profile:other")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "mcpctl auth login --profile other "+url)
}
