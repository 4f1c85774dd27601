package main

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// unusableFolders are folders that can hold no tokens, each with what the failure says.
func unusableFolders(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file, open := filepath.Join(dir, "file"), filepath.Join(dir, "open")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(open, 0o700))
	folders := map[string]string{file: file, filepath.Join(file, "below"): file}
	if runtime.GOOS != "windows" { // where access lists count, not bits
		require.NoError(t, os.Chmod(open, 0o755))
		folders[open] = "try       chmod 700 " + open + "\n"
	}
	return folders
}

// A server that wants no login needs no store of tokens. One that wants a login gets the reason.
func TestServersWithoutAStore(t *testing.T) {
	t.Parallel()
	for folder, says := range unusableFolders(t) {
		w := authtest.New(t)
		url := w.MCP.URL + "/mcp"
		code, _, stderr := script(t, folder, "", "call", url, "echo")
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		require.Contains(t, stderr, "the server wants a login, but the folder of tokens cannot be used: ")
		require.Contains(t, stderr, says)

		w.Access["any"] = "read"
		guarded := w.MCP.Config.Handler
		w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer any")
			guarded.ServeHTTP(rw, r)
		})
		code, stdout, stderr := script(t, folder, "", "call", url, "echo")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "done")
	}
}

// Nothing about a folder of the person is a bug of the program.
func TestUnusableFolders(t *testing.T) {
	t.Parallel()
	for folder, says := range unusableFolders(t) {
		for _, args := range [][]string{
			{"auth", "ls"}, {"auth", "logout", "--all"}, {"auth", "logout", ":9/mcp"}, {"auth", "token", ":9/mcp"}, {"auth", "login", ":9/mcp"},
		} {
			code, _, stderr := script(t, folder, "", args...)
			require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
			require.Contains(t, stderr, "the folder of tokens cannot be used: ")
			require.Contains(t, stderr, "MCPCTL_AUTH_DIR")
			require.Contains(t, stderr, says)
		}
	}
}

// Only a login makes the folder.
func TestReadingMakesNoFolder(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "a", "tokens")
	for _, args := range [][]string{{"auth", "ls"}, {"auth", "logout", "--all"}, {"auth", "logout", url}, {"auth", "token", url}, {"call", url, "echo"}} {
		script(t, folder, "", args...)
		require.NoDirExists(t, filepath.Dir(folder), args)
	}
	logInAt(t, folder, url)
	require.DirExists(t, folder)
}

// A file that is missing is not one without a token.
func TestTokenOfAFile(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for file, says := range map[string]string{empty: "there is no token in this file", empty + "-not": "this file cannot be read: "} {
		code, _, stderr := script(t, t.TempDir(), "", "ls", ":9/mcp", "--auth", "bearer:@"+file)
		require.Equal(t, failure.KindUsage.ExitCode(), code, stderr)
		require.Contains(t, stderr, says)
	}
}

// A damaged file is named wherever the login that may be in it is missing.
func TestDamagedFilesAreNamed(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	logInAt(t, folder, url)
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o600))
	for says, args := range map[string][]string{
		"the server wants a login":                                    {"call", url, "echo"},
		"no token is stored for this server":                          {"auth", "token", url},
		"1 damaged file could not be read: tokens in it may be valid": {"auth", "logout", url},
	} {
		code, _, stderr := script(t, folder, "", args...)
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		require.Contains(t, stderr, says)
		require.Contains(t, stderr, "damaged   "+files[0]+": it is not the JSON text of a record\n")
		require.Contains(t, stderr, "rm "+files[0]+"\n")
	}
	code, _, stderr := script(t, folder, "", "auth", "logout", "--all")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "rm "+files[0]+"\n")
	require.NoError(t, os.Remove(files[0]))
	code, _, stderr = script(t, folder, "", "auth", "logout", "--all")
	require.Zero(t, code, stderr)
}

// Later runs, too, say why a login has ended, until the next login.
func TestWhyALoginEnded(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	logInAt(t, folder, url)
	w.Forget()
	const ended = "your login has ended: the authorization server says invalid_grant"
	for range 2 {
		code, _, stderr := script(t, folder, "", "call", url, "echo")
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		require.Contains(t, stderr, ended)
		require.Contains(t, stderr, "mcpctl auth login "+url)
	}
	code, _, stderr := script(t, folder, "", "auth", "token", url)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, ended)
	require.Equal(t, 1, w.Asked("refresh_token"))
	logInAt(t, folder, url)
	code, _, stderr = script(t, folder, "", "auth", "logout", url)
	require.Zero(t, code, stderr)
	_, _, stderr = script(t, folder, "", "call", url, "echo")
	require.NotContains(t, stderr, "has ended")
}

// Two logins that differ in the client only can be told apart.
func TestAlikeLoginsNameTheClient(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", filepath.Join(t.TempDir(), "tokens")
	logInAt(t, folder, url)
	_, stdout, stderr := script(t, folder, "", "auth", "ls")
	require.NotContains(t, stdout, "(client ", stderr)
	code, stdout, stderr := script(t, folder, "", "auth", "login", "--client-id", "mine", "--issuer", w.AS.URL, url)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = script(t, folder, visit(t, pageOfLogin.FindString(stdout)), "auth", "login", "--client-id", "mine", "--issuer", w.AS.URL, "--finish", "@-", url)
	require.Zero(t, code, stderr)
	_, stdout, stderr = script(t, folder, "", "auth", "ls")
	require.Contains(t, stdout, "(client mine)", stderr)
	require.Contains(t, stdout, "(client registered-", stderr)
}
