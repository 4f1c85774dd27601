package connect

import (
	"bytes"
	"context"
	"io"
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
	var stderr bytes.Buffer
	asked := func(ctx context.Context, typed io.Reader, f flags.Global, to target.Target) error {
		stderr.Reset()
		d := &Dialer{Flags: &f, Secrets: &secret.Keeper{}, Console: console.New(console.Streams{
			In: typed, Out: io.Discard, Err: &stderr, InTerminal: true, ErrTerminal: true, Env: func(string) (string, bool) { return "", false },
		}, &f.Output)}
		d.Secrets.Keep("token", "planted")
		return d.Trusted(ctx, to)
	}
	program := target.Target{Argv: []string{"server", "--token=planted", "\x1b[2J"}, Entry: &target.Entry{File: "/p/.mcp.json", Name: "x", Digest: "d1"}}
	url := target.Target{URL: "http://h/mcp?key=planted", Entry: &target.Entry{File: "/p/other.json", Name: "y", Digest: "d1", Expanded: true}}
	ctx := t.Context()
	for _, answer := range []string{"", "\n", "n\n", "yep\n"} {
		err := asked(ctx, strings.NewReader(answer), flags.Global{}, program)
		require.EqualError(t, err, "/p/.mcp.json is not trusted")
		var f *failure.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, failure.KindInputRequired, f.Kind)
	}
	require.Contains(t, stderr.String(), "  server  x\n  file    /p/.mcp.json\n  starts  server ")
	require.Contains(t, stderr.String(), "Trust all servers of this file until it changes? [y/N]")
	require.NotContains(t, stderr.String(), "planted")
	require.NotContains(t, stderr.String(), "\x1b")
	require.ErrorContains(t, asked(ctx, strings.NewReader("y\n"), flags.Global{NoInput: true}, program), "do not trust yet")
	require.ErrorContains(t, asked(ctx, strings.NewReader("no\n"), flags.Global{}, url), "not trusted")
	require.Contains(t, stderr.String(), "  sends   your variables to http://h/mcp\n")

	after := strings.NewReader("Y\nfor the call")
	require.NoError(t, asked(ctx, after, flags.Global{}, program))
	rest, err := io.ReadAll(after)
	require.NoError(t, err)
	require.Equal(t, "for the call", string(rest))
	require.NoError(t, asked(ctx, strings.NewReader(""), flags.Global{NoInput: true}, program))
	require.Empty(t, stderr.String(), "once")
	program.Entry.Digest = "d2"
	require.Error(t, asked(ctx, strings.NewReader("\n"), flags.Global{}, program), "it has changed")
	own := target.Target{Argv: []string{"server"}, Entry: &target.Entry{File: "/p/.mcp.json"}}
	require.NoError(t, asked(ctx, strings.NewReader(""), flags.Global{}, own))

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	block, unblock := io.Pipe()
	require.ErrorIs(t, asked(canceled, block, flags.Global{}, program), context.Canceled)
	require.NoError(t, unblock.Close())
}
