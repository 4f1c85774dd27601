package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
)

// hosts writes files below a home folder and a project, and returns how names are looked up there.
func hosts(t *testing.T, files map[string]string) Defaults {
	t.Helper()
	root := t.TempDir()
	s := hostfile.System{OS: "linux", Home: filepath.Join(root, "home"), Folder: filepath.Join(root, "project")}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "$PROJECT", s.Folder)), 0o600))
	}
	return Defaults{System: s, Lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"KEY": "s3cret-key", "input:pin": "1234"}[name]
		return value, ok
	}}
}

func TestServerByName(t *testing.T) {
	t.Parallel()
	named := hosts(t, map[string]string{
		"project/mcp.json":                               `{"mcpServers": {"plain": {"command": "plain"}, "same": {"command": "same", "args": ["-v"]}}}`,
		"project/.mcp.json":                              `{"mcpServers": {"github": {"command": "of-the-team"}, "team": {"command": "team"}, "same": {"command": "same", "args": ["-v"]}}}`,
		"project/.vscode/mcp.json":                       `{"inputs": [{"id": "pin", "password": true}, {"id": "token", "type": "promptString", "description": "A token of GitHub", "password": true},], "servers": {"code": {"command": "code", "args": ["${workspaceFolder}", "${input:pin}"]}, "asks": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:token}"}}, "sends": {"url": "https://h/mcp", "headers": {"X": "${env:KEY}"}}}} // VS Code`,
		"project/.cursor/mcp.json":                       `{"mcpServers": {"github": {"command": "of-cursor"}, "off": {"command": "x", "disabled": true}}}`,
		"home/.claude.json":                              `{"projects": {"$PROJECT": {"mcpServers": {"github": {"command": "mine"}}}}, "mcpServers": {"github": {"command": "everywhere"}, "same": {"command": "same", "args": ["-v"]}}}`,
		"home/.cursor/mcp.json":                          `{"mcpServers": {"github": {"command": "everywhere-in-cursor"}, "off": {"command": "on"}}}`,
		"home/.config/Claude/claude_desktop_config.json": `{"globalShortcut": ""}`,
		"home/.config/Code/User/mcp.json":                `{"servers": `,
	})
	server := func(typed string) (Target, error) {
		t, _, err := Line{Operands: []string{typed}}.Server(named)
		return t, err
	}
	for typed, want := range map[string][]string{
		"plain": {"plain"}, "claude:github": {"mine"}, "cursor:github": {"of-cursor"}, "team": {"team"}, "off": {"on"}, "cursor:off": {"on"},
		"code": {"code", named.System.Folder, "1234"}, "vscode:code": {"code", named.System.Folder, "1234"},
		filepath.Join(named.System.Home, ".cursor", "mcp.json") + "#github": {"everywhere-in-cursor"},
		filepath.Join(named.System.Home, ".claude.json") + "#github":        {"everywhere"},
	} {
		got, err := server(typed)
		require.NoError(t, err, typed)
		require.Equal(t, want, got.Argv, typed)
		require.Equal(t, []string{typed}, got.Words())
	}
	same, err := server("same")
	require.NoError(t, err, "the same entry in several files is one")
	require.Empty(t, same.Entry.Digest, "which the user has, too")
	team, err := server("team")
	require.NoError(t, err)
	require.Len(t, team.Entry.Digest, 64)
	code, err := server("code")
	require.NoError(t, err)
	require.Equal(t, []string{"1234"}, code.Entry.Passwords)
	sends, err := server("sends")
	require.NoError(t, err)
	require.True(t, sends.Entry.Expanded)

	_, err = server("github")
	var f *failure.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, failure.KindUsage, f.Kind)
	require.Equal(t, "github is in several files: name one of them", f.Message)
	require.Equal(t, []string{
		"claude:github", "'.mcp.json#github'", "cursor:github", "'" + named.System.Home + "/.claude.json#github'", "'" + named.System.Home + "/.cursor/mcp.json#github'",
	}, f.Try)

	_, err = server("asks")
	require.ErrorAs(t, err, &f)
	require.Equal(t, `server "asks" of .vscode/mcp.json needs the input token`, f.Message)
	require.Equal(t, []string{"--input token=@FILE"}, f.Try)
	require.Equal(t, []failure.Fact{{Label: "about", Text: "A token of GitHub"}}, f.Evidence)

	_, err = server("githbu")
	require.ErrorAs(t, err, &f)
	require.Contains(t, f.Message, "githbu is not a server: no file of servers has this name; did you mean github")
	facts := map[string]string{}
	for _, e := range f.Evidence {
		facts[e.Label] = e.Text
	}
	require.Contains(t, facts["read"], ".vscode/mcp.json")
	require.Contains(t, facts["invalid"], "Code/User/mcp.json is not valid")
	require.Contains(t, f.Try, "mcpctl server ls")
	_, err = server("claude-desktop:github")
	require.ErrorContains(t, err, "is not a server")
}

func TestServerOfJSON(t *testing.T) {
	t.Parallel()
	const one = ` {"mcpServers":{"assistant":{"type":"http","url":"http://127.0.0.1:8000/mcp","headers":{"X":"s3cret"}}}}`
	const two = `{"mcpServers":{"a":{"command":"x"},"b c":{"command":"y"}}}`
	got, rest, err := Line{Operands: []string{one, "echo"}}.Server(Defaults{})
	require.NoError(t, err)
	require.Equal(t, []string{"echo"}, rest)
	require.Equal(t, "http://127.0.0.1:8000/mcp", got.URL)
	require.Equal(t, []string{InlineJSON}, got.Words(), "without its secrets")
	got, rest, err = Line{Operands: []string{"echo"}}.Server(Defaults{Config: one, Env: "http://other"})
	require.NoError(t, err)
	require.Equal(t, []string{"echo"}, rest)
	require.Nil(t, got.Words())
	got, _, err = Line{}.Server(Defaults{Config: two, Flag: "b c"})
	require.NoError(t, err)
	require.Equal(t, []string{"y"}, got.Argv)

	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(one), 0o600))
	for _, line := range []struct {
		l     Line
		named Defaults
	}{{Line{Operands: []string{path}}, Defaults{}}, {Line{}, Defaults{Config: path}}} {
		got, _, err = line.l.Server(line.named)
		require.NoError(t, err, "a file with one server needs no name")
		require.Equal(t, path, got.Entry.File)
		require.Equal(t, "assistant", got.Entry.Name)
	}
	for want, named := range map[string]Defaults{
		"the JSON has 2 servers: name one": {Config: two}, `the JSON has no server "docz"; did you mean docs?`: {Config: `{"mcpServers":{"docs":{"command":"x"}}}`, Flag: "docz"},
		"cannot be used": {Config: "{"}, "no such file": {Config: "nothing.json"}, "has no servers": {Config: `{"mcpServers":{}}`}, "unknown type": {Config: `{"mcpServers":{"a":{"type":"pigeon","url":"http://h"}}}`},
	} {
		_, _, err := Line{}.Server(named)
		var f *failure.Failure
		require.ErrorAs(t, err, &f, want)
		require.ErrorContains(t, err, want)
		if named.Config == two {
			require.Equal(t, []string{"-s a", "-s 'b c'"}, f.Try)
		}
	}
	_, _, err = Line{Operands: []string{two}}.Server(Defaults{})
	var f *failure.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "--mcp-config '{…}' -s a", f.Try[0])
	_, _, err = Line{Program: []string{"x"}, Dashed: true}.Server(Defaults{Config: one})
	require.ErrorContains(t, err, "two servers")
}

// FuzzName: any word is a server, or an error for its user.
func FuzzName(f *testing.F) {
	for _, seed := range []string{"github", "cursor:github", "claude:", "a b", "{", `{"mcpServers":{"a":{"command":"x"}}}`, "x.json", "#", "", "@x", ":1/mcp", "mcp.json#a", "b.jsonl"} {
		f.Add(seed)
	}
	folder := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(folder, "mcp.json"), []byte(`{"mcpServers":{"github":{"command":"x"}}}`), 0o600))
	f.Fuzz(func(t *testing.T, word string) {
		got, _, err := Line{Operands: []string{word}}.Server(Defaults{System: hostfile.System{OS: "linux", Folder: folder}})
		if err != nil {
			var own *failure.Failure
			require.ErrorAs(t, err, &own)
			return
		}
		require.NotEqual(t, got.Argv == nil, got.URL == "")
	})
}
