package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// Commands of other programs that people type here.
func TestLoginIsACommandOfAuth(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"login", "logout"} {
		code, _, stderr := script(t, t.TempDir(), "", word, "http://127.0.0.1:1/mcp")
		require.Equal(t, failure.KindUsage.ExitCode(), code)
		require.Contains(t, stderr, "did you mean mcpctl auth "+word+"?")
	}
	_, help, _ := script(t, t.TempDir(), "", "--help")
	require.NotContains(t, help, "--auth FILE")
	require.Contains(t, help, "bearer:@FILE, env:VAR, profile:NAME, or program:@FILE")
}

// A secret that is typed in the wrong place is not repeated: the error ends up in a log.
func TestMistypedSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	const server, planted = "http://127.0.0.1:1/mcp", "eyJplanted-secret"
	for says, args := range map[string][]string{
		"--auth must be auto, none, bearer:@FILE, env:VAR, profile:NAME or program:@FILE": {"ls", server, "--auth", "Bearer " + planted},
		"error: --auth must be": {"ls", server, "--auth", planted},
		"--auth bearer: takes a file, because a command line is no place for a token": {"ls", server, "--auth", "bearer:" + planted},
		"--auth bearer: this file cannot be read: ":                                   {"ls", server, "--auth", "bearer:@" + planted},
		"--auth env: the variable is not set":                                         {"ls", server, "--auth", "env:" + planted},
		"--auth bearer: name a file":                                                  {"ls", server, "--auth", "bearer:"},
		"--auth env: name a variable":                                                 {"ls", server, "--auth", "env:"},
		"--auth program: takes a file":                                                {"ls", server, "--auth", "program:" + planted},
		"--auth program: this file cannot be read: ":                                  {"ls", server, "--auth", "program:@" + planted},
		"--auth profile: name a login":                                                {"ls", server, "--auth", "profile:"},
		"-H: write a header as 'Name: value'":                                         {"ls", server, "-H", "Bearer " + planted},
		"error: -H: write a header":                                                   {"ls", server, "-H", planted + " a:b"},
		"-H: the file cannot be read":                                                 {"ls", server, "-H", "@" + planted},
		"-e: the variable is not set; give a value with -e NAME=VALUE":                {"ls", "-e", planted, "--", "program"},
		"--client-secret-env: the variable is not set; it takes the name of a variable, not the secret": {
			"auth", "login", "--client-id", "me", "--client-secret-env", planted, server,
		},
		"--finish takes a file":              {"auth", "login", "--finish", "http://127.0.0.1/callback?code=" + planted, server},
		"--finish: the file cannot be read:": {"auth", "login", "--finish", "@http://127.0.0.1/callback?code=" + planted, server},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			for _, format := range []string{"human", "json"} {
				code, stdout, stderr := script(t, filepath.Join(t.TempDir(), "tokens"), "", append([]string{"-o", format}, args...)...)
				require.Equal(t, failure.KindUsage.ExitCode(), code, stderr)
				require.NotContains(t, stdout+stderr, "eyJ")
				if format == "human" {
					require.Contains(t, stderr, says)
				}
			}
		})
	}
}
