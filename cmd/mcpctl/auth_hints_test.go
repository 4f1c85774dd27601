package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// loginURL is the member of a failure in JSON that names the page to open.
func loginURL(t *testing.T, stderr string) string {
	t.Helper()
	var doc struct {
		Error struct {
			LoginURL string `json:"loginUrl"`
		}
	}
	line := stderr[strings.Index(stderr, `{"error"`):]
	require.NoError(t, json.Unmarshal([]byte(line), &doc), stderr)
	return doc.Error.LoginURL
}

// The failure of a login that waits for a person, or has waited in vain, names the page.
func TestAuthNamesThePage(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	nobody := func(args ...string) string {
		for wait := 50 * time.Millisecond; ; wait *= 4 { // on a busy machine, a short one ends before there is a page
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"auth", "login", "--no-browser", "--max-time", wait.String(), url}, args...), console.Streams{
				In: strings.NewReader(""), Out: &out, Err: &errs, InTerminal: true, Env: tokensIn(folder),
			})
			if code == failure.KindAuth.ExitCode() {
				return errs.String()
			}
			require.Less(t, wait, time.Minute, errs.String())
		}
	}
	stderr := nobody()
	require.Regexp(t, `\n  log in at  `+w.AS.URL+`/authorize\?\S+state=`, stderr)
	require.NotContains(t, stderr, "LoginURL", "it is the name of a member in Go")
	stderr = nobody("-o", "json")
	require.Contains(t, loginURL(t, stderr), w.AS.URL+"/authorize?")

	code, stdout, stderr := script(t, folder, "", "auth", "login", "-o", "json", url)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	var begun struct{ URL string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &begun))
	require.Equal(t, begun.URL, loginURL(t, stderr))
	code, _, stderr = script(t, folder, "", "call", "-o", "json", url, "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.NotContains(t, stderr, "loginUrl", "this failure has no page")
}

// A login with another profile is proposed where one is missing.
func TestAuthProposesAnotherProfile(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	refused := func(args ...string) string {
		code, _, stderr := script(t, folder, "", args...)
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		return stderr
	}
	require.NotContains(t, refused("call", url, "echo"), "profile")
	logInAt(t, folder, "--profile", "work", url)
	stderr := refused("call", url, "echo")
	require.Contains(t, stderr, "  try       mcpctl auth login "+url+"\n            or add --auth profile:work: you are logged in with it\n")
	code, _, stderr := script(t, folder, "", "call", url, "echo", "--auth", "profile:work")
	require.Zero(t, code, stderr)
	require.Contains(t, refused("ls", url, "--auth", "profile:home"), "or add --auth profile:work: ")
	require.Contains(t, refused("auth", "token", url), "or add --profile work: ")
	require.Contains(t, refused("conform", "server", url, "--only", "TOOL-01*"), "or add --auth profile:work: ")
	require.Contains(t, refused("call", "-o", "json", url, "echo"), `"hint":"mcpctl auth login `+url+`"`, "a program runs the hint")

	logInAt(t, folder, url)
	require.Contains(t, refused("ls", url, "--auth", "profile:home"), "or leave out --auth: you are logged in without it")
	require.Contains(t, refused("auth", "token", url, "--profile", "home"), "or leave out --profile: ")
	other := authtest.New(t)
	require.NotContains(t, refused("call", other.MCP.URL+"/mcp", "echo"), "or add --auth", "it is another server")
	w.Forget()
	require.NotContains(t, refused("call", url, "echo", "--auth", "profile:work"), "or add", "a login that has ended is none")
}

// To log out of a login that waits for a person ends it.
func TestAuthLogoutOfABegunLogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	begin := func() (page string) {
		code, stdout, stderr := script(t, folder, "", "auth", "login", "--profile", "work", url)
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		return pageOfLogin.FindString(stdout)
	}
	for _, args := range [][]string{{url, "--profile", "work"}, {"--all"}} {
		page := begin()
		code, _, stderr := script(t, folder, "", append([]string{"auth", "logout"}, args...)...)
		require.Zero(t, code, stderr)
		require.Equal(t, "the login to "+url+" as work that waited for a person is ended\n", stderr)
		code, _, stderr = script(t, folder, visit(t, page), "auth", "login", "--profile", "work", "--finish", "@-", url)
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		require.Contains(t, stderr, "no login waits to be finished")
		code, _, stderr = script(t, folder, "", append([]string{"auth", "logout"}, args...)...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "nobody was logged in")
	}
}

// A server on this machine has two names. The one that has the login, or that the server
// calls itself by, is proposed.
func TestAuthProposesTheOtherName(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	address, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	name := strings.Replace(address, "127.0.0.1", "localhost", 1)
	code, _, stderr := script(t, folder, "", "auth", "login", name)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "use "+address+", which the server calls itself")

	logInAt(t, folder, address)
	code, _, stderr = script(t, folder, "", "call", name, "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "or use "+address+": you are logged in there")
	code, _, stderr = script(t, folder, "", "call", address, "echo")
	require.Zero(t, code, stderr)
	code, _, stderr = script(t, folder, "", "call", strings.Replace(address, "127.0.0.1", "127.0.0.2", 1), "echo")
	require.NotZero(t, code)
	require.NotContains(t, stderr, "or use", "it is another address")
}
