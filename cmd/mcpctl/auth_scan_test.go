package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// TestNothingSecretIsPrinted runs commands with all their traces against a server that wants
// logins, through expiries, refusals and losses: no token, code, verifier or secret is printed.
// Only `auth token` prints one, and nothing else.
func TestNothingSecretIsPrinted(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	at1, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	ok, needsLogin := failure.KindOK, failure.KindAuth
	printed := 0
	do := func(want failure.Kind, args ...string) {
		t.Helper()
		for _, more := range [][]string{{"-vv"}, {"-vv", "-o", "json"}, {"-q"}} {
			code, stdout, stderr := at(t, folder, append(args, more...)...)
			require.Equal(t, want.ExitCode(), code, stderr)
			// The page of a pushed request has its name. It is for the person, and in nothing else.
			stderr = pageOfLogin.ReplaceAllString(stderr, "PAGE")
			for _, secret := range append(w.Secrets(), "planted-secret") {
				require.NotContains(t, stdout, secret, args)
				require.NotContains(t, stderr, secret, args)
			}
			printed += len(stdout) + len(stderr)
		}
	}

	do(needsLogin, "call", at1, "echo")
	do(ok, "auth", "inspect", at1)
	do(ok, "auth", "login", "--no-browser", at1)
	do(ok, "auth", "login", "--no-browser", "--dpop", "--profile", "bound", at1)
	for _, profile := range []string{"auto", "profile:bound"} {
		w.Revoke() // the next command renews the token
		do(ok, "call", at1, "echo", "--auth", profile)
		do(ok, "info", at1, "--auth", profile)
		do(ok, "ls", at1, "--auth", profile)
		do(ok, "rpc", at1, "tools/list", "--auth", profile)
		do(ok, "call", at1, "echo", "--dry-run", "--auth", profile)
	}
	allowed := []string{"--issuer", w.AS.URL, "--without-resource", "--authorize-param", "audience=api", "--only-scope", "read"}
	do(ok, append([]string{"auth", "inspect", at1}, allowed...)...)
	w.AnyResource = true
	do(ok, append([]string{"auth", "login", "--no-browser", "--profile", "excepted", at1}, allowed...)...)
	w.Revoke()
	do(ok, "call", at1, "echo", "--auth", "profile:excepted")
	w.AnyResource = false
	do(needsLogin, append([]string{"auth", "login", "--no-browser", "--profile", "excepted", at1}, allowed...)...) // invalid_target
	w.Announce("pushed_authorization_request_endpoint")
	do(ok, "auth", "inspect", at1)
	do(ok, "auth", "login", "--no-browser", at1)
	require.Equal(t, 3, w.Asked("push"))
	w.Announce("device_authorization_endpoint")
	for _, more := range [][]string{{"-vv"}, {"-vv", "-o", "json"}, {"-q"}} {
		code, stdout, stderr := typed(t, w, folder, append([]string{"auth", "login", "--device", "--profile", "typed", at1}, more...)...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout+stderr, "USER-", "the person sees the code")
		printed += len(stdout) + len(stderr)
	}
	w.Revoke()
	do(ok, "call", at1, "echo", "--auth", "profile:typed")
	do(ok, "auth", "ls")
	w.Needs = "admin"
	do(needsLogin, "call", at1, "echo")
	w.Needs, w.Never = "", true
	do(needsLogin, "call", at1, "echo")
	w.Never = false
	w.Callback = func(back url.Values) { back.Set("iss", "https://evil.example") }
	do(needsLogin, "auth", "login", "--no-browser", at1)
	w.Callback = func(back url.Values) { back.Set("code", "another-planted-secret") }
	do(needsLogin, "auth", "login", "--no-browser", at1)
	w.Callback = nil
	do(ok, "auth", "login", "--no-browser", at1)
	do(ok, "auth", "logout", at1)
	do(needsLogin, "auth", "token", at1)
	require.Greater(t, printed, 20_000, "it would find nothing in nothing")
	require.Greater(t, len(w.Secrets()), 5)

	_, stdout, stderr := at(t, folder, "auth", "token", "--profile", "bound", at1, "-vv")
	require.NotContains(t, stderr, "planted-secret")
	require.Equal(t, 1, strings.Count(stdout, "planted-secret"))
}
