package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// withoutS256 is a server whose authorization server takes no resource parameter and does
// not list S256. It returns the forms and queries that it gets, by path.
func withoutS256(t *testing.T) (w *authtest.World, seen func(path string) []url.Values) {
	t.Helper()
	w = authtest.New(t)
	w.AnyResource = true
	delete(w.Metadata, "code_challenge_methods_supported")
	w.Resource["scopes_supported"] = []string{"read", "write"}
	var mu sync.Mutex
	all := map[string][]url.Values{}
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/authorize" || r.URL.Path == "/token" {
			if r.ParseForm() != nil || r.Form.Has("resource") {
				rw.WriteHeader(http.StatusBadRequest)
				return
			}
			mu.Lock()
			all[r.URL.Path] = append(all[r.URL.Path], r.Form)
			mu.Unlock()
		}
		inner.ServeHTTP(rw, r)
	})
	return w, func(path string) []url.Values {
		mu.Lock()
		defer mu.Unlock()
		return all[path]
	}
}

func TestLoginWithExceptions(t *testing.T) {
	t.Parallel()
	w, seen := withoutS256(t)
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	code, _, stderr := at(t, folder, "auth", "login", "--no-browser", server)
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	require.Contains(t, stderr, "assume it with --issuer "+w.AS.URL+" --assume-pkce")
	require.Empty(t, seen("/authorize"))

	code, stdout, stderr := script(t, folder, "", "auth", "inspect", server)
	require.Equal(t, failure.KindNegative.ExitCode(), code, stderr)
	require.Contains(t, stdout, "assume it with --issuer "+w.AS.URL+" --assume-pkce")

	allowed := []string{
		"--issuer", w.AS.URL, "--only-scope", "read", "--without-resource", "--assume-pkce",
		"--authorize-param", "audience=https://api.example, really", "--authorize-param", "access_type=offline",
	}
	code, stdout, stderr = script(t, folder, "", append([]string{"auth", "inspect", server}, allowed...)...)
	require.Zero(t, code, stdout+stderr)
	require.Regexp(t, `note  it supports PKCE with S256.*\n.*you vouch for it\n.*what you give up`, stdout)
	require.Regexp(t, `note  requests for tokens name the MCP server.*\n.*you allow that they do not\n.*what you give up`, stdout)
	require.Contains(t, stdout, "ok    the login has parameters that you added: access_type, audience")
	require.Contains(t, stdout, "ok    it asks only for the scopes that you named: read")
	require.Contains(t, stdout, "mcpctl auth login --issuer "+w.AS.URL+" --only-scope read --without-resource --assume-pkce "+
		"--authorize-param audience='https://api.example, really' --authorize-param access_type=offline "+server)

	code, _, stderr = at(t, folder, append([]string{"auth", "login", "--no-browser", server}, allowed...)...)
	require.Zero(t, code, stderr)
	require.Len(t, seen("/authorize"), 1)
	asked := seen("/authorize")[0]
	require.Equal(t, "https://api.example, really", asked.Get("audience"))
	require.Equal(t, "offline", asked.Get("access_type"))
	require.Equal(t, "read", asked.Get("scope"))
	require.NotEmpty(t, asked.Get("code_challenge"), "PKCE is still used")

	w.Revoke()
	code, _, stderr = script(t, folder, "", "call", server, "echo")
	require.Zero(t, code, stderr)
	require.Equal(t, 1, w.Asked("refresh_token"), "the stored login remembers that no resource is sent")
	require.NotEmpty(t, seen("/token")[0].Get("code_verifier"))
}

// A login that was begun remembers its exceptions, and is not mistaken for one without
// them.
func TestHandedOffLoginWithExceptions(t *testing.T) {
	t.Parallel()
	w, _ := withoutS256(t)
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	code, stdout, stderr := script(t, folder, "", "auth", "login", "-o", "json", server,
		"--issuer", w.AS.URL, "--without-resource", "--assume-pkce", "--authorize-param", "audience=api", "--authorize-param", "prompt=")
	require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
	var begun struct{ URL string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &begun))
	require.Contains(t, begun.URL, "audience=api")
	require.NotContains(t, begun.URL, "prompt")
	require.NotContains(t, begun.URL, "resource")
	first := begun.URL
	_, stdout, _ = script(t, folder, "", "auth", "login", "-o", "json", server, "--issuer", w.AS.URL, "--without-resource", "--assume-pkce")
	require.NoError(t, json.Unmarshal([]byte(stdout), &begun))
	require.NotEqual(t, first, begun.URL)
	require.NotContains(t, begun.URL, "audience")
	code, _, stderr = script(t, folder, visit(t, begun.URL), "auth", "login", server, "--finish", "@-")
	require.Zero(t, code, stderr)
}

func TestWrongExceptions(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	for name, tt := range map[string]struct {
		flags []string
		want  string
	}{
		"no issuer for a rule":      {[]string{"--assume-pkce"}, "--assume-pkce needs --issuer"},
		"no issuer for a parameter": {[]string{"--authorize-param", "a=b"}, "--authorize-param needs --issuer"},
		"no value":                  {[]string{"--issuer", w.AS.URL, "--authorize-param", "audience"}, "takes NAME=VALUE"},
		"no name":                   {[]string{"--issuer", w.AS.URL, "--authorize-param", "=x"}, "takes NAME=VALUE"},
		"the protocol's own":        {[]string{"--issuer", w.AS.URL, "--authorize-param", "redirect_uri=https://evil.example/planted-secret"}, `--authorize-param cannot set "redirect_uri"`},
		"in other letters":          {[]string{"--issuer", w.AS.URL, "--authorize-param", "Client_ID=x"}, `--authorize-param cannot set "Client_ID"`},
		"no issuer identifier":      {[]string{"--issuer", "login.example", "--without-resource"}, "--without-resource needs the issuer identifier"},
	} {
		for _, command := range []string{"login", "inspect"} {
			t.Run(command+": "+name, func(t *testing.T) {
				t.Parallel()
				code, stdout, stderr := script(t, t.TempDir()+"/tokens", "", append([]string{"auth", command, w.MCP.URL + "/mcp"}, tt.flags...)...)
				require.Contains(t, stdout+stderr, tt.want)
				require.NotContains(t, stdout+stderr, "planted-secret")
				require.Equal(t, failure.KindUsage.ExitCode(), code)
			})
		}
	}
	require.Zero(t, w.Asked("register")+w.Asked("authorize"))
}

// A command whose login ended because there was no refresh token says how to get one.
func TestLoginThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	code, _, stderr := at(t, folder, "auth", "login", "--no-browser", server)
	require.Zero(t, code, stderr)
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
		r.Token.Refresh.Set("")
		r.Token.Expiry = time.Now().Add(-time.Second)
		return r, nil
	}))
	for _, command := range [][]string{{"call", server, "echo"}, {"auth", "token", server}} {
		code, _, stderr = script(t, folder, "", command...)
		require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
		require.Contains(t, stderr, "the authorization server gave no refresh token")
		require.Contains(t, stderr, "a parameter (--authorize-param)")
		require.Contains(t, stderr, "mcpctl auth login "+server)
	}
}
