package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// person is somebody at a terminal who opens the printed page elsewhere and pastes
// where it ends.
type person struct {
	t     *testing.T
	page  chan string
	lines *io.PipeWriter
	user  string // whose button the page has; "" for a page that has none
}

var pageOfLogin = regexp.MustCompile(`https?://\S+/authorize\?\S+`)

// Write implements io.Writer: what the person sees on stderr.
func (p *person) Write(data []byte) (int, error) {
	if page := pageOfLogin.FindString(string(data)); page != "" {
		p.page <- page
	}
	return len(data), nil
}

// logIn opens the page, and pastes the address that it leads to.
func (p *person) logIn() {
	page := <-p.page
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	method, form := http.MethodGet, ""
	if p.user != "" {
		method, form = http.MethodPost, "user="+p.user
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, page, strings.NewReader(form))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := browser.Do(req)
	if err != nil {
		return
	}
	_ = resp.Body.Close()
	_, _ = io.WriteString(p.lines, "nonsense\n"+resp.Header.Get("Location")+"\n")
}

// tokensIn is an environment that only names the folder of tokens.
func tokensIn(folder string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "MCPCTL_AUTH_DIR" {
			return folder, true
		}
		return "", false
	}
}

// at runs mcpctl for a person with a folder of tokens.
func at(t *testing.T, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return as(t, "", folder, args...)
}

// as is at for a person who presses the button of a user on the page.
func as(t *testing.T, user, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	in, lines := io.Pipe()
	who := &person{t: t, page: make(chan string, 1), lines: lines, user: user}
	done := make(chan struct{})
	over, end := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		select {
		case page := <-who.page:
			who.page <- page
			who.logIn()
		case <-over.Done():
		}
		_ = lines.Close()
	}()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, console.Streams{
		In: in, Out: &out, Err: io.MultiWriter(&errs, who), InTerminal: true,
		Env: tokensIn(folder),
	})
	end()
	_ = in.Close()
	<-done
	require.NotContains(t, errs.String(), "access-planted-secret")
	require.NotContains(t, errs.String(), "refresh-planted-secret")
	require.NotContains(t, errs.String(), "code-planted-secret")
	return code, out.String(), errs.String()
}

// script runs mcpctl without a terminal.
func script(t *testing.T, folder, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, console.Streams{
		In: strings.NewReader(in), Out: &out, Err: &errs,
		Env: tokensIn(folder),
	})
	require.NotContains(t, errs.String(), "planted-secret")
	return code, out.String(), errs.String()
}

// visit opens a page in a browser on another machine, and returns where it ends.
func visit(t *testing.T, page string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	require.NoError(t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.Header.Get("Location")
}

// A script never waits for a person: one command begins the login, another finishes it.
func TestAuthHandOff(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	authCode := failure.KindAuth.ExitCode()

	code, stdout, stderr := script(t, folder, "", "auth", "login", "--profile", "work", url)
	require.Equal(t, authCode, code, stderr)
	require.Empty(t, stderr)
	next := "mcpctl auth login --profile work --finish @- " + url
	require.Contains(t, stdout, "\n  "+next+"\n")
	address := visit(t, pageOfLogin.FindString(stdout))

	code, stdout, _ = script(t, folder, "", "auth", "ls")
	require.Zero(t, code)
	require.Contains(t, stdout, "waits for a login, for ")
	code, _, stderr = script(t, folder, "", "call", url, "echo", "--auth", "profile:work")
	require.Equal(t, authCode, code)
	require.Contains(t, stderr, "mcpctl auth login --profile work "+url)
	code, _, stderr = script(t, folder, "", "auth", "login", "--profile", "work", "--finish", address, url)
	require.Equal(t, failure.KindUsage.ExitCode(), code, "a code does not belong on a command line")
	require.NotContains(t, stderr, "planted-secret")
	code, _, stderr = script(t, folder, "\n", "auth", "login", "--profile", "work", "--finish", "@-", url)
	require.Equal(t, failure.KindUsage.ExitCode(), code, stderr)
	code, _, stderr = script(t, folder, strings.Replace(address, "state=", "state=x", 1), "auth", "login", "--profile", "work", "--finish", "@-", url)
	require.Equal(t, authCode, code, stderr)
	require.Contains(t, stderr, "this address belongs to another login")

	file := filepath.Join(t.TempDir(), "address")
	require.NoError(t, os.WriteFile(file, []byte("\n "+address+" \nmore"), 0o600))
	code, _, stderr = script(t, folder, "", "auth", "login", "--profile", "work", "--finish", "@"+file, url)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "logged in to w")
	code, _, stderr = script(t, folder, "", "call", url, "echo", "--auth", "profile:work")
	require.Zero(t, code, stderr)
	code, _, stderr = script(t, folder, address, "auth", "login", "--profile", "work", "--finish", "@-", url)
	require.Equal(t, authCode, code, "a replay")
	require.Contains(t, stderr, "no login waits to be finished")

	code, stdout, stderr = script(t, folder, "", "auth", "login", "-o", "json", url)
	require.Equal(t, authCode, code, stderr)
	require.Contains(t, stderr, `"kind":"auth"`)
	var doc struct{ Server, Issuer, URL, Redirect, Expires, Next string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, "mcpctl auth login --finish @- "+url, doc.Next)
	require.Equal(t, url, doc.Server)
	require.Equal(t, w.AS.URL, doc.Issuer)
	address = visit(t, doc.URL)
	require.True(t, strings.HasPrefix(address, doc.Redirect+"?"), address)
	code, _, stderr = script(t, folder, address+"\n", "auth", "login", "--finish", "@-", url)
	require.Zero(t, code, stderr)

	code, _, stderr = script(t, folder, "", "auth", "logout", "--all", "--profile", "work")
	require.Zero(t, code, stderr)
	code, stdout, _ = script(t, folder, "", "auth", "ls", "-o", "ndjson")
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(stdout, "\n"), stdout)
	code, _, stderr = script(t, folder, "", "auth", "logout", "--all")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "logged out of "+url)
	code, stdout, _ = script(t, folder, "", "auth", "ls")
	require.Zero(t, code)
	require.Empty(t, stdout)
}

func TestAuth(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"

	code, _, stderr := at(t, folder, "call", url, "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "the server wants a login")
	require.Contains(t, stderr, "mcpctl auth login "+url)

	code, _, stderr = at(t, folder, "auth", "token", url)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)

	code, stdout, stderr := at(t, folder, "auth", "inspect", url)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "mcpctl auth login "+url)
	require.Contains(t, stdout, "/.well-known/oauth-protected-resource/mcp")
	require.Zero(t, w.Asked("authorize"))

	code, _, stderr = at(t, folder, "auth", "login", "--no-browser", url)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "logged in to w")
	require.Contains(t, stderr, "was the login completed?", "what was pasted first is no address")

	code, stdout, stderr = at(t, folder, "call", url, "echo")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "done")

	code, stdout, _ = at(t, folder, "auth", "ls", "-o", "json")
	require.Zero(t, code)
	var accounts []account
	require.NoError(t, json.Unmarshal([]byte(stdout), &accounts))
	require.Len(t, accounts, 1)
	require.Equal(t, url, accounts[0].Server)
	require.Equal(t, "valid", accounts[0].State)

	code, stdout, _ = at(t, folder, "auth", "token", url)
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "access-planted-secret-"), stdout)

	w.Revoke()
	code, _, stderr = at(t, folder, "call", url, "echo")
	require.Zero(t, code, stderr)
	require.Equal(t, 1, w.Asked("refresh_token"))
	require.Equal(t, 1, w.Asked("authorize"))

	code, _, stderr = at(t, folder, "call", url, "echo", "--auth", "none")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = at(t, folder, "call", url, "echo", "--auth", "profile:other")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = at(t, folder, "call", url, "echo", "--auth", "bearer:abc")
	require.Equal(t, failure.KindUsage.ExitCode(), code, stderr)

	code, _, stderr = at(t, folder, "auth", "logout", url)
	require.Zero(t, code, stderr)
	require.Equal(t, 2, w.Asked("revoke"))
	require.Empty(t, w.Access)
	code, _, stderr = at(t, folder, "call", url, "echo")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	code, _, stderr = at(t, folder, "auth", "logout", url)
	require.Zero(t, code)
	require.Contains(t, stderr, "nobody was logged in")
}
