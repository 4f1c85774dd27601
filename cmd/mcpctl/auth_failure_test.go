package main

import (
	"os"
	"path/filepath"
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
		after    func(*authtest.World) // the login
		args     []string
		says     []string
		next     string // the first line to try; URL stands for the server's
	}{
		"nobody is logged in":       {args: []string{"ls"}, says: []string{"the server wants a login", "Bearer token with the scopes read"}, next: "mcpctl auth login URL"},
		"nobody has the profile":    {loggedIn: true, args: []string{"ls", "--auth", "profile:x y"}, says: []string{"the server wants a login"}, next: "mcpctl auth login --profile 'x y' URL"},
		"no credentials are sent":   {loggedIn: true, args: []string{"ls", "--auth", "none"}, says: []string{"--auth none sends no token"}, next: "mcpctl auth login URL"},
		"a wrong token of a header": {loggedIn: true, args: []string{"ls", "-H", "Authorization: Bearer abcdefgh"}, says: []string{"the server refuses the token of -H"}, next: "mcpctl auth login URL"},
		"a wrong token of a file":   {args: []string{"ls", "--auth", "bearer:@token"}, says: []string{"the server refuses the token of --auth bearer:@token"}, next: "mcpctl auth login URL"},
		"a scope is missing": {
			world: func(w *authtest.World) { w.Needs = "write" }, loggedIn: true, args: []string{"call", "echo"},
			says: []string{`the server wants a login with the scopes "write"`}, next: "mcpctl auth login --scope read,write URL",
		},
		"a scope is missing, of an own token": {
			world: func(w *authtest.World) { w.Needs = "write"; w.Access["own-token"] = "read" }, args: []string{"call", "echo", "-H", "Authorization: Bearer own-token"},
			says: []string{"the token of -H has not the scopes that this request needs", "Bearer token with the scopes write"}, next: "mcpctl auth login URL",
		},
		"the authorization server is down": {
			world: func(w *authtest.World) { w.Lifetime = 1 }, loggedIn: true, after: func(w *authtest.World) { w.Revoke(); w.AS.Close() }, args: []string{"ls"},
			says: []string{"the authorization server does not answer", "/token: dial tcp"}, next: "mcpctl auth inspect URL",
		},
		"the login was taken back": {
			loggedIn: true, after: func(w *authtest.World) { w.Forget() }, args: []string{"ls"},
			says: []string{"the server wants a login"}, next: "mcpctl auth login URL",
		},
		"the server refuses what was issued for it": {
			loggedIn: true, after: func(w *authtest.World) { w.Never = true }, args: []string{"ls"},
			says: []string{"the server refuses the token that was issued for it"}, next: "mcpctl auth inspect URL",
		},
		"a login at a server that registers nobody": {
			world: func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }, args: []string{"auth", "login"},
			says: []string{"registers no programs by itself", "--client-id"}, next: "mcpctl auth login --client-id ID --issuer ISSUER URL",
		},
		"a login against a broken rule": {
			world: func(w *authtest.World) { delete(w.Metadata, "code_challenge_methods_supported") }, args: []string{"auth", "login"},
			says: []string{"does not support PKCE with S256"}, next: "mcpctl auth inspect URL",
		},
		"a login when the authorization server is down": {
			world: func(w *authtest.World) { w.AS.Close() }, args: []string{"auth", "login"},
			says: []string{"the authorization server does not answer", "/.well-known/oauth-authorization-server"}, next: "mcpctl auth inspect URL",
		},
		"no token to print": {args: []string{"auth", "token", "--profile", "p"}, says: []string{"the server wants a login"}, next: "mcpctl auth login --profile p URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			if tt.world != nil {
				tt.world(w)
			}
			dir := t.TempDir()
			url, folder := w.MCP.URL+"/mcp", filepath.Join(dir, "tokens")
			if tt.loggedIn {
				logInAt(t, folder, url)
			}
			if tt.after != nil {
				tt.after(w)
			}
			args := tt.args
			for i := range args {
				if strings.HasSuffix(args[i], "@token") {
					file := filepath.Join(dir, "token")
					require.NoError(t, os.WriteFile(file, []byte("abcdefgh"), 0o600))
					args[i] = strings.Replace(args[i], "token", file, 1)
				}
			}
			code, _, stderr := script(t, folder, "", append([]string{"-s", url}, args...)...)
			require.Equal(t, failure.KindAuth.ExitCode(), code, stderr)
			stderr = strings.NewReplacer(url, "URL", w.AS.URL, "ISSUER", dir+"/", "").Replace(stderr)
			for _, text := range tt.says {
				require.Contains(t, strings.ReplaceAll(stderr, "ISSUER", ""), text)
			}
			require.Contains(t, stderr, "  try       "+tt.next+"\n")
		})
	}
}

func TestAuthCompletion(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	logInAt(t, folder, url, "--profile", "work")
	for want, args := range map[string][]string{
		url:            {"auth", "logout", ""},
		"work":         {"auth", "token", "--profile", ""},
		"profile:work": {"ls", "--auth", ""},
	} {
		_, stdout, stderr := script(t, folder, "", append([]string{"__complete"}, args...)...)
		require.Contains(t, strings.Split(stdout, "\n"), want, stderr)
	}
}
