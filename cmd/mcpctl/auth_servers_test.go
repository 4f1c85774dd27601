package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	require.Contains(t, stderr, "the server refuses the token of the file of servers")
	require.Contains(t, stderr, "renew or remove the Authorization header of "+file+"#own in that file: it wins over mcpctl auth login")
	require.NotContains(t, stderr, "try")
	code, _, stderr = script(t, folder, "", "call", "-s", file+"#one", "echo", "--auth", "none")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
}

// The stored token opens the stream of a server of the transport of 2024.
func TestAuthOverSSE(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.OverSSE()
	w.AnyResource, w.Resource["resource"] = true, w.MCP.URL
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "tokens"), filepath.Join(dir, "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"servers": {"old": {"type": "sse", "url": "`+w.MCP.URL+`/sse"}}}`), 0o600))
	code, _, stderr := script(t, folder, "", "call", file+"#old", "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, stdout, stderr := script(t, folder, "", "auth", "inspect", file+"#old")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, stdout, "A login would work")
	logInAt(t, folder, file+"#old")
	code, stdout, stderr = script(t, folder, "", "call", file+"#old", "echo")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "done")
	w.Revoke()
	code, _, stderr = script(t, folder, "", "call", file+"#old", "echo")
	require.Zero(t, code, stderr)
	require.Equal(t, 1, w.Asked("refresh_token"))
}

// The suite reaches a server with the stored token, which is renewed while the run goes on.
func TestConformWithStoredTokens(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	endpoint, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	conform := func(more ...string) (int, string, string) {
		return script(t, folder, "", append([]string{"conform", "server", endpoint, "--only", "TOOL-01*", "--timeout", "5s"}, more...)...)
	}
	code, _, stderr := conform()
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "mcpctl auth login "+endpoint)

	logInAt(t, folder, endpoint)
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
	require.Contains(t, stderr, "mcpctl auth login --profile other "+endpoint)
}

// The lines about logins in the page about mcpctl can be pasted.
func TestDocumentedLogins(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcpctl.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Logging in\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	w := authtest.New(t)
	dir := t.TempDir()
	address, folder := filepath.Join(dir, "address"), filepath.Join(dir, "tokens")
	ran := 0
	for line := range strings.Lines(section) {
		words, ok := strings.CutPrefix(line, "mcpctl ")
		if !ok {
			continue
		}
		ran++
		words, _, _ = strings.Cut(words, " #")
		words = strings.NewReplacer("https://api.example.com", w.MCP.URL, "@address", "@"+address, "'", "").Replace(words)
		args := strings.Fields(words)
		var code int
		var stdout, stderr string
		switch {
		case strings.HasPrefix(words, "auth login http"): // at a terminal
			code, stdout, stderr = at(t, folder, append(args, "--no-browser")...)
		case strings.HasPrefix(words, "auth login -o json"):
			code, stdout, stderr = script(t, folder, "", args...)
			require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
			var begun struct{ URL string }
			require.NoError(t, json.Unmarshal([]byte(stdout), &begun))
			require.NoError(t, os.WriteFile(address, []byte(visit(t, begun.URL)), 0o600))
			continue
		default:
			code, stdout, stderr = script(t, folder, "", args...)
		}
		require.Zero(t, code, line+stdout+stderr)
	}
	require.Equal(t, 9, ran)
}

// What a file of servers keeps secret is in no output, even if the server repeats it.
func TestSecretsOfAFileStaySecret(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		var m struct{ ID json.RawMessage }
		if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.ID) == 0 {
			rw.WriteHeader(http.StatusAccepted)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"jsonrpc": "2.0", "id": `+string(m.ID)+`, "error": {"code": -32000, "message": "I saw `+token+` beside `+r.Header.Get("X-Key")+`"}}`)
	}))
	t.Cleanup(echo.Close)
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {"a": {"url": "`+echo.URL+`",
		"headers": {"Authorization": "Bearer first-planted-secret", "X-Key": "second-planted-secret"}}}}`), 0o600))
	for _, args := range [][]string{{"ls"}, {"ls", "-vv"}, {"ls", "-o", "json"}, {"conform", "server", "-v"}} {
		code, stdout, stderr := script(t, t.TempDir()+"/tokens", "", append([]string{"-s", file + "#a"}, args...)...)
		require.NotZero(t, code)
		require.NotContains(t, stdout+stderr, "planted-secret", args)
	}
}

// A token that is taken back in the middle of a run is renewed, and no check notices.
func TestConformRenewsATokenDuringTheRun(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	next := w.MCP.Config.Handler
	var lists atomic.Int32
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), `"tools/list"`) && lists.Add(1)%2 == 1 {
			w.Revoke()
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(rw, r)
	})
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	logInAt(t, folder, server)
	code, stdout, stderr := script(t, folder, "", "conform", "server", server, "--only", "TOOL-01*", "--timeout", "5s")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, stdout, "2 passed")
	require.GreaterOrEqual(t, w.Asked("refresh_token"), 2)
	require.Equal(t, 1, w.Asked("authorize"))
}

// A report has no token, even if the server repeats the one that it was sent.
func TestConformHidesRepeatedTokens(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	next := w.MCP.Config.Handler
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"tools/list"`) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"jsonrpc": "2.0", "id": "wrong", "error": {"code": 1, "message": "not with `+r.Header.Get("Authorization")+`"}}`)
	})
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	logInAt(t, folder, server)
	report := filepath.Join(t.TempDir(), "report.json")
	_, stdout, stderr := script(t, folder, "", "conform", "server", server, "--only", "TOOL-01*", "-v", "--timeout", "1s", "--report", "json="+report)
	require.Contains(t, stdout, "not with ", stderr)
	require.NotContains(t, stdout, "planted-secret")
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(text), "not with ")
	require.NotContains(t, string(text), "planted-secret")
}
