package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

func TestLoginFlags(t *testing.T) {
	t.Parallel()
	cfg, err := parse([]string{"--http", ":3000", "--login", "demo, guest", "--oauth-scope", "mcp", "--oauth-tool-scope", "createTicket=tickets"}, vars{}.lookup)
	require.NoError(t, err)
	require.Equal(t, []string{"demo", "guest"}, cfg.users)
	require.Equal(t, tokenLifetime, cfg.lifetime)
	require.Equal(t, "127.0.0.1:3000", cfg.http, "without a host, only this machine is listened on")
	require.NoError(t, cfg.protect("http://127.0.0.1:3000"))
	require.Equal(t, "http://127.0.0.1:3000/login", cfg.opts.OAuth.Issuer)
	require.Equal(t, "http://127.0.0.1:3000/mcp", cfg.opts.OAuth.Resource)
	require.Equal(t, []string{"mcp"}, cfg.opts.OAuth.Scopes)
	for _, host := range []string{"localhost", "127.0.0.2", "[::1]"} {
		_, err := parse([]string{"--http", host + ":3000", "--login", "demo"}, vars{}.lookup)
		require.NoError(t, err, host)
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"over stdio there are no logins", []string{"--login", "demo"}},
		{"anybody who reaches the page can log in", []string{"--http", "0.0.0.0:3000", "--login", "demo"}},
		{"anybody who reaches the page can log in", []string{"--http", "[::]:3000", "--login", "demo"}},
		{"anybody who reaches the page can log in", []string{"--http", "mcp.example:3000", "--login", "demo"}},
		{"needs the name of a user", []string{"--http", ":3000", "--login", " , "}},
		{"exclude each other", []string{"--http", ":3000", "--login", "demo", "--token", "x"}},
		{"exclude each other", []string{"--http", ":3000", "--login", "demo", "--oauth-issuer", "https://issuer.example"}},
		{"exclude each other", []string{"--http", ":3000", "--login", "demo", "--oauth-resource", "https://mcp.example/mcp"}},
		{"a second or more", []string{"--http", ":3000", "--login", "demo", "--login-lifetime", "10ms"}},
		{"needs --login", []string{"--http", ":3000", "--login-lifetime", "10s"}},
	} {
		_, err := parse(tc.args, vars{}.lookup)
		require.ErrorContains(t, err, tc.want, tc.args)
	}
}

// browser opens a page and presses a button. It returns where the browser ends.
func browser(t *testing.T, page, user string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(url.Values{"user": {user}}.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	return res.Header.Get("Location")
}

// The program as a reader of the README starts it: login, call, renewal, logout.
func TestLogin(t *testing.T) {
	t.Parallel()
	p := start(t, "--http", ":0", "--login", "demo", "--login-lifetime", "1s", "--oauth-tool-scope", "getImmediateAnswer=plan", "--families", "coe")
	server := strings.TrimPrefix(p.logged(t, `mcpctl auth login http://127\.0\.0\.1:\d+/mcp`), "mcpctl auth login ")
	ctx := t.Context()
	login := auth.HandOff(auth.WithStore(auth.NewMemory()))
	t.Cleanup(func() { require.NoError(t, login.Close()) })
	handedOff := func(err error) string {
		var out *auth.LoginPendingError
		require.ErrorAs(t, err, &out)
		return browser(t, out.URL, "demo")
	}
	_, err := client.Dial(ctx, server)
	require.ErrorContains(t, err, "401", "without a token nobody comes in")
	_, err = client.Dial(ctx, server, client.WithAuthorizer(login))
	require.NoError(t, login.Finish(ctx, server, handedOff(err)))
	c, err := client.Dial(ctx, server, client.WithAuthorizer(login))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	_, err = c.CallTool(ctx, "getNextTask", map[string]any{})
	require.NoError(t, err)

	_, err = c.CallTool(ctx, "getImmediateAnswer", map[string]any{"query": "x"})
	require.NoError(t, login.Finish(ctx, server, handedOff(err)), "this tool needs one more scope")
	_, err = c.CallTool(ctx, "getImmediateAnswer", map[string]any{"query": "x"})
	require.NoError(t, err)

	first, err := login.Token(ctx, server)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		renewed, err := login.Token(ctx, server)
		return err == nil && renewed != first
	}, time.Minute, 50*time.Millisecond, "an access token that expires is renewed")
	_, err = c.CallTool(ctx, "getNextTask", map[string]any{})
	require.NoError(t, err)
	found, err := login.Logout(ctx, server)
	require.NoError(t, err)
	require.True(t, found)
	_, err = login.Token(ctx, server)
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)

	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(p.log)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "eyJ", "no token is in the log")
	require.NoError(t, p.Wait())
}
