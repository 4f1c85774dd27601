package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

var goOption = regexp.MustCompile(`auth\.(With[A-Za-z]+)\(`)

// flagOf are the flags of the options in the page about large providers.
var flagOf = map[string]string{
	"WithClient": "--client-id", "WithIssuer": "--issuer", "WithIssuerSlash": "--issuer-slash", "WithScopes": "--scope", "WithOnlyScopes": "--only-scope",
	"WithoutResource": "--without-resource", "WithAssumedPKCE": "--assume-pkce", "WithAuthorizeParams": "--authorize-param",
}

// TestLinesOfProviders: the command of each section has the flags of the options beside
// it, and makes options that are right.
func TestLinesOfProviders(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/authorization/providers.md")
	require.NoError(t, err)
	sections := strings.Split(string(text), "\n## ")[1:]
	checked := 0
	for _, section := range sections {
		name, _, _ := strings.Cut(section, "\n")
		block := shellBlock.FindStringSubmatch(section)
		if block == nil {
			require.Equal(t, "When it fails", name, "a section without a command")
			continue
		}
		checked++
		line := strings.ReplaceAll(strings.TrimSpace(block[1]), "\\\n", "")
		words := strings.Fields(line)
		require.Equal(t, []string{"mcpctl", "auth", "login"}, words[:3], name)
		for _, option := range goOption.FindAllStringSubmatch(section[:strings.Index(section, "```sh")], -1) {
			require.Contains(t, words, flagOf[option[1]], "%s: %s", name, option[1])
		}

		// The server names another issuer: the login goes no further.
		w := authtest.New(t)
		words[len(words)-1] = w.MCP.URL + "/mcp"
		var out, errs bytes.Buffer
		code := run(t.Context(), words[1:], console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(name string) (string, bool) {
			value, ok := map[string]string{"MCPCTL_AUTH_DIR": t.TempDir() + "/tokens", "SECRET": "planted-secret"}[name]
			return value, ok
		}})
		require.Equal(t, failure.KindAuth.ExitCode(), code, "%s: %s", name, errs.String())
		require.Contains(t, errs.String(), "and the server names "+w.AS.URL, name)
		require.NotContains(t, out.String()+errs.String(), "planted-secret")
	}
	require.Equal(t, 7, checked)
}
