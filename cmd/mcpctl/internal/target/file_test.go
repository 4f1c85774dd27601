package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFile: a server behind a proxy is used directly, unless the proxy has flags, or settings
// that may be for the proxy itself.
func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"mcpServers": {
		"remote": {"url": "https://h/mcp", "headers": {"A": "b"}},
		"loop": {"command": "mcpctl", "args": ["proxy", "`+other+`#loop"]}}}`), 0o600))
	path := filepath.Join(dir, "mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers": {
		"program": {"command": "/bin/MCPCTL.exe", "args": ["proxy", "--", "server", "--flag"], "env": {"A": "b"}, "cwd": "/x"},
		"twice": {"command": "mcpctl", "args": ["proxy", "--", "mcpctl", "proxy", "https://h/mcp"]},
		"entry": {"command": "mcpctl", "args": ["proxy", "`+other+`#remote"]},
		"off": {"url": "https://h/mcp", "disabled": true},
		"flags": {"command": "mcpctl", "args": ["proxy", "-v", "https://h/mcp"]},
		"config": {"command": "mcpctl", "args": ["proxy", "--config", "x.json"]},
		"env": {"command": "mcpctl", "args": ["proxy", "https://h/mcp"], "env": {"MCPCTL_AUTH_DIR": "/x"}},
		"call": {"command": "mcpctl", "args": ["call", "https://h/mcp"]},
		"loop": {"command": "mcpctl", "args": ["proxy", "`+other+`#loop"]},
		"missing": {"command": "mcpctl", "args": ["proxy", "`+other+`#nope"]},
		"bad": {"url": "${NOTHING}"}
	}}`), 0o600))
	servers, notes, err := File(path, Defaults{})
	require.NoError(t, err)
	require.Len(t, notes, 2)
	require.Contains(t, notes[0], `server "missing"`)
	require.Contains(t, notes[1], "NOTHING is not set")
	byName := map[string]Target{}
	names := make([]string, 0, len(servers))
	for _, s := range servers {
		byName[s.Name] = s.Target
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"program", "twice", "entry", "flags", "config", "env", "call", "loop"}, names)
	require.Equal(t, []string{"server", "--flag"}, byName["program"].Argv)
	require.Equal(t, []string{"A=b"}, byName["program"].Entry.Env)
	require.Equal(t, "/x", byName["program"].Entry.Dir)
	require.Equal(t, "https://h/mcp", byName["twice"].URL)
	require.Nil(t, byName["twice"].Argv)
	require.Equal(t, "https://h/mcp", byName["entry"].URL)
	require.Equal(t, [][2]string{{"A", "b"}}, byName["entry"].Entry.Header)
	for _, name := range []string{"flags", "config", "env", "call", "loop"} {
		require.Equal(t, "mcpctl", byName[name].Argv[0], name)
	}
	_, _, err = File(filepath.Join(dir, "none.json"), Defaults{})
	require.ErrorContains(t, err, "no such file")
}
