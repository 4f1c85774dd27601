package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// TestTrusted: a person is asked once for a file and its content, on a terminal only.
func TestTrusted(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "APPDATA"} {
		t.Setenv(name, folder)
	}
	t.Chdir(folder)
	servers := `"x": {"command": "server", "args": ["--token=planted", "\u001b[2J"], "cwd": "/tmp/e v", "env": {
			"NODE_OPTIONS": "--require /tmp/evil.js", "LD_PRELOAD": "${LIB:-/tmp/evil.so}", "API_KEY": "planted", "TOKEN": "${MINE}"}},
		"y": {"url": "http://h/mcp?key=${KEY}"},
		"z": {"command": "rm", "args": ["-rf", "--require /tmp/evil.js"]},
		"off": {"command": "off", "disabled": true}`
	for i := range 12 {
		servers += fmt.Sprintf(`, "s%d": {"url": "http://u:planted@s%d/mcp"}`, i, i)
	}
	file := filepath.Join(folder, ".mcp.json")
	write := func(more string) string {
		text := `{"mcpServers": {` + servers + more + `}}`
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		digest := sha256.Sum256([]byte(text))
		return hex.EncodeToString(digest[:])
	}
	digest := write("")
	var stderr bytes.Buffer
	asked := func(ctx context.Context, typed io.Reader, f flags.Global, to target.Target) error {
		stderr.Reset()
		d := &Dialer{Flags: &f, Secrets: &secret.Keeper{}, Console: console.New(console.Streams{
			In: typed, Out: io.Discard, Err: &stderr, InTerminal: true, ErrTerminal: true, Env: func(string) (string, bool) { return "", false },
		}, &f.Output)}
		d.Secrets.Keep("token", "planted")
		return d.Trusted(ctx, to)
	}
	program := target.Target{Argv: []string{"server"}, Entry: &target.Entry{File: file, Name: "x", Digest: digest}}
	url := target.Target{URL: "http://h/mcp?key=planted", Entry: &target.Entry{File: file, Name: "y", Digest: digest, Expanded: true}}
	ctx := t.Context()
	for _, answer := range []string{"", "\n", "n\n", "yep\n"} {
		err := asked(ctx, strings.NewReader(answer), flags.Global{}, program)
		require.EqualError(t, err, file+" is not trusted")
		var f *failure.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, failure.KindInputRequired, f.Kind)
	}
	require.Contains(t, stderr.String(), "  file    "+file+"\n  server  x: starts cd '/tmp/e v' && NODE_OPTIONS='--require /tmp/evil.js' "+
		"LD_PRELOAD='${LIB:-/tmp/evil.so}' API_KEY='[redacted]' TOKEN='${MINE}' server --token='[redacted]' '␛[2J'\n")
	require.Contains(t, stderr.String(), "\n  y: sends your variables to http://h/mcp\n  z: starts rm -rf '--require /tmp/evil.js'\n  s0: opens http://s0/mcp\n")
	require.Contains(t, stderr.String(), "  s7: opens http://s7/mcp\n  and 4 more; mcpctl server ls lists them\n\nTrust all")
	require.NotContains(t, stderr.String(), "off")
	require.Contains(t, stderr.String(), "Trust all servers of this file until it changes? [y/N]")
	require.NotContains(t, stderr.String(), "planted")
	require.NotContains(t, stderr.String(), "\x1b")
	require.ErrorContains(t, asked(ctx, strings.NewReader("y\n"), flags.Global{NoInput: true}, program), "do not trust yet")
	require.ErrorContains(t, asked(ctx, strings.NewReader("no\n"), flags.Global{}, url), "not trusted")
	require.Contains(t, stderr.String(), "  server  y: sends your variables to http://h/mcp\n")

	after := strings.NewReader("Y\nfor the call")
	require.NoError(t, asked(ctx, after, flags.Global{}, program))
	rest, err := io.ReadAll(after)
	require.NoError(t, err)
	require.Equal(t, "for the call", string(rest))
	require.NoError(t, asked(ctx, strings.NewReader(""), flags.Global{NoInput: true}, program))
	require.Empty(t, stderr.String(), "once")
	program.Entry.Digest = write(`, "new": {"command": "ls"}`)
	require.Error(t, asked(ctx, strings.NewReader("\n"), flags.Global{}, program), "it has changed")
	url.Entry.Digest = "of another content"
	require.ErrorContains(t, asked(ctx, strings.NewReader("y\n"), flags.Global{}, url), "has just changed")
	own := target.Target{Argv: []string{"server"}, Entry: &target.Entry{File: file}}
	require.NoError(t, asked(ctx, strings.NewReader(""), flags.Global{}, own))

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	block, unblock := io.Pipe()
	require.ErrorIs(t, asked(canceled, block, flags.Global{}, program), context.Canceled)
	require.NoError(t, unblock.Close())
}
