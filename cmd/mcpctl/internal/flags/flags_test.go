package flags

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestByteCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ByteCount{"1": 1, "1000000": 1e6, "64KiB": 64 << 10, "64 mib": 64 << 20, "1GiB": LargestCount, "2MB": 2e6, "3k": 3 << 10} {
		var got ByteCount
		require.NoError(t, got.Set(text), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "-1", "x", "2GiB", "1TiB", "1.5MiB"} {
		var got ByteCount
		require.Error(t, got.Set(text), text)
		require.Zero(t, got, text)
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	var era, color string
	dates, words := Choice(&era, "auto", "auto", "session", "*"), Choice(&color, "never", "always", "never")
	require.Equal(t, "auto", dates.String())
	require.Equal(t, "never", words.String())
	require.NoError(t, dates.Set(string(mcp.LatestSession)))
	require.Equal(t, string(mcp.LatestSession), era)
	require.EqualError(t, dates.Set("*"), "must be one of auto, session")
	require.EqualError(t, words.Set(string(mcp.LatestSession)), "must be one of always, never")
	require.Equal(t, "never", color, "a refused value changes nothing")
}

// parsed returns the global flags of a command line, and the command.
func parsed(t *testing.T, args ...string) (*Global, *cobra.Command) {
	t.Helper()
	var g Global
	cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }}
	g.Register(cmd.Flags())
	cmd.SetArgs(args)
	require.NoError(t, cmd.Execute())
	return &g, cmd
}

func TestCheck(t *testing.T) {
	t.Parallel()
	stateless, session := string(mcp.Latest), string(mcp.LatestSession)
	for _, tt := range []struct {
		args   []string
		pinned string
		wrong  string
	}{
		{nil, "", ""},
		{[]string{"--era", "stateless"}, stateless, ""},
		{[]string{"--era", "session"}, session, ""},
		{[]string{"--era", "legacy"}, session, ""},
		{[]string{"--era", "modern"}, stateless, ""},
		{[]string{"--era", session}, session, ""},
		{[]string{"--protocol-version", stateless}, stateless, ""},
		{[]string{"--era", "session", "--protocol-version", session}, session, ""},
		{[]string{"--era", "session", "--protocol-version", stateless}, stateless, "is not of the era session"},
		{[]string{"--era", "stateless", "--protocol-version", stateless}, stateless, "exclude each other"},
		{[]string{"--max-time", "0s"}, "", "--max-time must be positive"},
	} {
		g, _ := parsed(t, tt.args...)
		require.Equal(t, tt.pinned, g.Pinned(), tt.args)
		if tt.wrong == "" {
			require.NoError(t, g.Check(), tt.args)
			require.NoError(t, g.CheckRevision(), tt.args)
			continue
		}
		require.ErrorContains(t, g.Check(), tt.wrong, tt.args)
	}
	g, _ := parsed(t, "--protocol-version", "2000-01-01")
	require.ErrorContains(t, g.CheckRevision(), "--protocol-version 2000-01-01: unknown revision")
}

// An example line repeats the flags that decide which server is reached.
func TestTyped(t *testing.T) {
	t.Parallel()
	_, cmd := parsed(t, "-v", "-H", "A: ${B}", "-H", "C: d", "--era", "session", "--max-time", "1s")
	require.ElementsMatch(t, []string{"--era", "session", "-H", "A: ${B}", "-H", "C: d"}, Typed(cmd))
	require.Contains(t, Typed(cmd, map[string]bool{"max-time": true}), "--max-time")

	_, cmd = parsed(t, "--no-input", "-q=false")
	require.Equal(t, []string{"--no-input", "--quiet=false"}, Typed(cmd, map[string]bool{"no-input": true, "quiet": true}), "such a flag takes no value as the next word")
}
