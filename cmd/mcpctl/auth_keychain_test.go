package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// TestAuthKeychain logs in, calls, renews and logs out with tokens behind a keychain. mcpctl is
// another process: the connection to a keychain lasts as long as its process.
func TestAuthKeychain(t *testing.T) {
	t.Parallel()
	env := authtest.SecretService(t, true)
	self, err := os.Executable()
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "tokens")
	env = append(append(os.Environ(), env...), "MCPCTL_TOKEN_STORE=keychain", "MCPCTL_AUTH_DIR="+folder)
	mcpctl := func(in string, args ...string) (code int, stdout, stderr string) {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Args[0] = "mcpctl"
		cmd.Env, cmd.Stdin = env, strings.NewReader(in)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code says it
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	code, stderr := 1, ""
	for tries := 0; code != 0 && tries < 50; tries++ { // until the keyring answers
		code, _, stderr = mcpctl("", "auth", "ls")
	}
	require.Zero(t, code, stderr)

	w := authtest.New(t)
	url := w.MCP.URL + "/mcp"
	code, stdout, stderr := mcpctl("", "auth", "login", url)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = mcpctl(visit(t, pageOfLogin.FindString(stdout)), "auth", "login", "--finish", "@-", url)
	require.Zero(t, code, stderr)
	w.Revoke()
	code, stdout, stderr = mcpctl("", "call", url, "echo")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "done")
	require.Equal(t, 1, w.Asked("refresh_token"))
	code, stdout, stderr = mcpctl("", "auth", "ls")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, url)

	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, string(text), "planted-secret", file)
		require.NotContains(t, string(text), w.MCP.URL, file)
	}
	code, _, _ = mcpctl("", "call", url, "echo", "--token-store", "files")
	require.Equal(t, failure.KindAuth.ExitCode(), code, "the other store knows nothing of it")
	code, _, stderr = mcpctl("", "auth", "logout", url)
	require.Zero(t, code, stderr)
	require.Empty(t, w.Access)
	code, _, _ = mcpctl("", "call", url, "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code)
}
