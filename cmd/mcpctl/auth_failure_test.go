package main

import (
	"cmp"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// Each failure of a login has exit code 4, and names what helps.
func TestAuthFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world    func(*authtest.World)
		loggedIn bool
		flags    []string              // of that login
		after    func(*authtest.World) // the login
		person   bool                  // somebody is at the terminal
		args     []string
		says     []string
		next     string // the line to try, with URL for the server's; "" for none
		exit     failure.Kind
	}{
		"nobody is logged in":                  {args: []string{"ls"}, says: []string{"the server wants a login", "Bearer token with the scopes read"}, next: "mcpctl auth login URL"},
		"nobody is judged":                     {args: []string{"conform", "server", "--only", "TOOL-01*"}, says: []string{"the server wants credentials (HTTP 401)"}, next: "mcpctl auth login URL"},
		"nobody has the profile":               {loggedIn: true, args: []string{"ls", "--auth", "profile:x y"}, says: []string{"the server wants a login"}, next: "mcpctl auth login --profile 'x y' URL"},
		"no credentials are sent":              {loggedIn: true, args: []string{"ls", "--auth", "none"}, says: []string{"--auth none sends no token", "log in, and leave out --auth none"}, next: "mcpctl auth login URL"},
		"nobody is judged without credentials": {args: []string{"conform", "server", "--only", "TOOL-01*", "--auth", "none"}, says: []string{"the server wants credentials (HTTP 401)", "log in, and leave out --auth none"}, next: "mcpctl auth login URL"},
		"a wrong token of a header":            {loggedIn: true, args: []string{"ls", "-H", "Authorization: Bearer abcdefgh"}, says: []string{"the server refuses the token of -H", "renew that token, or leave out -H and use mcpctl auth login"}},
		"a wrong token of a file":              {args: []string{"ls", "--auth", "bearer:@token"}, says: []string{"the server refuses the token of --auth bearer:@token", "renew that token, or leave out --auth and use mcpctl auth login"}},
		"a header without TLS":                 {args: []string{"ls", "--auth", "bearer:@token", "-s", "http://192.0.2.2:1/mcp"}, exit: failure.KindUsage, says: []string{"tokens are not sent without TLS", "use https"}},
		"the redirect of a web application":    {args: []string{"auth", "login", "--redirect", "https://example.com/cb"}, exit: failure.KindUsage, says: []string{"--redirect: the redirect URL must be on this machine", "an https URL is for a web application"}},
		"a redirect that is not here":          {args: []string{"auth", "login", "--redirect", "http://example.com/cb"}, exit: failure.KindUsage, says: []string{"the redirect URL must be on this machine"}},
		"a document without TLS":               {args: []string{"auth", "login", "--client-metadata", "http://x/y"}, exit: failure.KindUsage, says: []string{"https"}},
		"the person or a rule says no": {
			world: func(w *authtest.World) {
				w.Callback = func(back url.Values) { back.Del("code"); back.Set("error", "access_denied") }
			}, args: []string{"auth", "login", "--no-browser"}, person: true,
			says: []string{"access_denied", "log in as somebody who has access, or ask the operator of the server"},
		},
		"the answer is of another issuer": {
			world: func(w *authtest.World) {
				w.Callback = func(back url.Values) { back.Set("iss", "https://evil.example") }
			}, args: []string{"auth", "login", "--no-browser"}, person: true,
			says: []string{"do not log in there again before the operator of the server has explained it"},
		},
		"the authorization server wants keys of programs": {
			world: func(w *authtest.World) {
				w.Metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
			}, args: []string{"auth", "login", "--no-browser"}, person: true,
			says: []string{"the server supports private_key_jwt, and this program has no key", "--client-id"}, next: "mcpctl auth login --client-id ID --issuer ISSUER --no-browser URL",
		},
		"the authorization server demands pushed requests, and takes none": {
			world: func(w *authtest.World) { w.Metadata["require_pushed_authorization_requests"] = true },
			args:  []string{"auth", "login", "--no-browser"}, person: true,
			says: []string{"demands pushed authorization requests, and names no endpoint for them", "its operator must add pushed_authorization_request_endpoint"}, next: "mcpctl auth inspect URL",
		},
		"the authorization server refuses a pushed request": {
			world: func(w *authtest.World) {
				w.Metadata["require_pushed_authorization_requests"] = true
				w.Metadata["pushed_authorization_request_endpoint"] = w.AS.URL + "/missing"
			},
			args: []string{"auth", "login", "--no-browser"}, person: true,
			says: []string{"the authorization server did not accept the pushed request", "HTTP status 404", "ask the operator of the authorization server"},
		},
		"nobody can log in on another device": {
			args: []string{"auth", "login", "--device"},
			says: []string{"lets nobody log in on another device", "log in with a browser, without --device"}, next: "mcpctl auth inspect URL",
		},
		"a code and a browser": {
			args: []string{"auth", "login", "--device", "--no-browser"}, exit: failure.KindUsage,
			says: []string{"--device goes without --finish, --redirect and --no-browser"},
		},
		"the address of the redirect is taken": {
			args: []string{"auth", "login", "--client-id", "me", "--redirect", "TAKEN/callback"},
			says: []string{"the callback of the login cannot be received", "end the program that has this port, or choose another redirect URL that is registered"},
		},
		"the address is of another login": {
			args: []string{"auth", "login", "--client-id", "me", "--issuer", "ISSUER", "--scope", "a,b", "--dpop", "--profile", "p", "--redirect", "http://127.0.0.1:1/cb", "--finish", "@address"},
			says: []string{"no login waits to be finished"},
			next: "mcpctl auth login --client-id me --issuer ISSUER --scope a,b --profile p --redirect http://127.0.0.1:1/cb --dpop URL",
		},
		"a scope is missing": {
			world: func(w *authtest.World) { w.Needs = "write" }, loggedIn: true, args: []string{"call", "echo"},
			says: []string{`the server wants a login with the scopes "write"`}, next: "mcpctl auth login --scope read,write URL",
		},
		"a scope is missing, of an own token": {
			world: func(w *authtest.World) { w.Needs = "write"; w.Access["own-token"] = "read" }, args: []string{"call", "echo", "-H", "Authorization: Bearer own-token"},
			says: []string{"the token of -H has not the scopes that this request needs", "Bearer token with the scopes write"},
		},
		"the authorization server is down": {
			world: func(w *authtest.World) { w.Lifetime = 1 }, loggedIn: true, after: func(w *authtest.World) { w.Revoke(); w.AS.Close() }, args: []string{"ls"},
			says: []string{"the authorization server does not answer", "/token: dial tcp"}, next: "mcpctl auth inspect URL",
		},
		"the login was taken back": {
			loggedIn: true, after: func(w *authtest.World) { w.Forget() }, args: []string{"ls"},
			says: []string{"your login has ended: the authorization server says invalid_grant"}, next: "mcpctl auth login URL",
		},
		"a login with a key was taken back": {
			world: bindTokens, loggedIn: true, flags: []string{"--dpop"}, after: func(w *authtest.World) { w.Forget() }, args: []string{"ls"},
			says: []string{"your login has ended"}, next: "mcpctl auth login --dpop URL",
		},
		"a scope is missing, of a token with a key": {
			world: bindTokens, loggedIn: true, flags: []string{"--dpop"}, after: func(w *authtest.World) { w.Needs = "write" }, args: []string{"call", "echo"},
			says: []string{`the server wants a login with the scopes "write"`}, next: "mcpctl auth login --scope read,write --dpop URL",
		},
		"the server refuses what was issued for it": {
			loggedIn: true, after: func(w *authtest.World) { w.Never = true }, args: []string{"ls"},
			says: []string{"the server refuses the token that was issued for it"}, next: "mcpctl auth inspect URL",
		},
		"a login at a server that registers nobody": {
			world: func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }, args: []string{"auth", "login"},
			says: []string{"registers no programs automatically", "--client-id"}, next: "mcpctl auth login --client-id ID --issuer ISSUER URL",
		},
		"a login against a broken rule": {
			world: func(w *authtest.World) { delete(w.Metadata, "code_challenge_methods_supported") }, args: []string{"auth", "login"},
			says: []string{"does not support PKCE with S256"}, next: "mcpctl auth inspect URL",
		},
		"a login when the authorization server is down": {
			world: func(w *authtest.World) { w.AS.Close() }, args: []string{"auth", "login"},
			says: []string{"the authorization server does not answer", "/.well-known/oauth-authorization-server"}, next: "mcpctl auth inspect URL",
		},
		"no token to print": {args: []string{"auth", "token", "--profile", "p"}, says: []string{"no token is stored for this server"}, next: "mcpctl auth login --profile p URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			if tt.world != nil {
				tt.world(w)
			}
			dir := t.TempDir()
			at1, folder := w.MCP.URL+"/mcp", filepath.Join(dir, "tokens")
			if tt.loggedIn {
				logInAt(t, folder, append([]string{at1}, tt.flags...)...)
			}
			if tt.after != nil {
				tt.after(w)
			}
			args := tt.args
			for i := range args {
				for name, text := range map[string]string{"token": "abcdefgh", "address": "http://127.0.0.1:1/callback?state=x&code=code-planted-secret"} {
					if strings.HasSuffix(args[i], "@"+name) {
						file := filepath.Join(dir, name)
						require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
						args[i] = strings.Replace(args[i], name, file, 1)
					}
				}
			}
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer taken.Close() //nolint:errcheck // it was only to be taken
			for i := range args {
				args[i] = strings.NewReplacer("TAKEN", "http://"+taken.Addr().String(), "ISSUER", w.AS.URL).Replace(args[i])
			}
			start := script
			if tt.person {
				start = func(t *testing.T, folder, _ string, args ...string) (int, string, string) {
					return at(t, folder, args...)
				}
			}
			code, _, stderr := start(t, folder, "", append([]string{"-s", at1}, args...)...)
			require.Equal(t, cmp.Or(tt.exit, failure.KindAuth).ExitCode(), code, stderr)
			stderr = strings.NewReplacer(at1, "URL", w.AS.URL, "ISSUER", dir+"/", "").Replace(stderr)
			for _, text := range tt.says {
				require.Contains(t, strings.ReplaceAll(stderr, "ISSUER", ""), text)
			}
			if tt.next == "" {
				require.NotContains(t, stderr, "  try ")
			} else {
				require.Contains(t, stderr, "  try       "+tt.next+"\n")
			}
			header := !slices.Contains(args, "auth") && (strings.HasPrefix(stderr, "error: the server wants a login  ") || slices.Contains(args, "conform") && !slices.Contains(args, "none"))
			require.Equal(t, header, strings.Count(stderr, "            or add -H 'Authorization: Bearer ${TOKEN}'\n") == 1, stderr)

			_, _, stderr = start(t, folder, "", append([]string{"-s", at1, "-o", "json"}, args...)...)
			var got struct{ Error struct{ Hint string } }
			require.NoError(t, json.Unmarshal([]byte(stderr[strings.Index(stderr, "{"):]), &got))
			if tt.next != "" {
				require.Equal(t, tt.next, strings.NewReplacer(at1, "URL", w.AS.URL, "ISSUER").Replace(got.Error.Hint), "a program can run it")
			}
		})
	}
}

// bindTokens lets clients bind their tokens to a key.
func bindTokens(w *authtest.World) {
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
}

func TestAuthCompletion(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	logInAt(t, folder, server, "--profile", "work")
	for want, args := range map[string][]string{
		server:         {"auth", "logout", ""},
		"work":         {"auth", "token", "--profile", ""},
		"profile:work": {"ls", "--auth", ""},
	} {
		_, stdout, stderr := script(t, folder, "", append([]string{"__complete"}, args...)...)
		require.Contains(t, strings.Split(stdout, "\n"), want, stderr)
	}
}
