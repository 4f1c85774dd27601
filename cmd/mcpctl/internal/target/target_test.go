package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

func TestServerURL(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"https://x/mcp": "https://x/mcp", "http://x:1": "http://x:1", ":3000/mcp": "http://localhost:3000/mcp",
		"localhost:3000/mcp": "http://localhost:3000/mcp", ":3000": "http://localhost:3000",
		"127.0.0.1:3000/mcp": "http://127.0.0.1:3000/mcp", "[::1]:3000": "http://[::1]:3000",
	} {
		got, err := parseURL(typed)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, typed := range []string{"@x", "htp://x", "http://", "http:///mcp", "cursor:x", "unix:///s", "name", "http://a b/", "b.jsonl", ""} {
		_, err := parseURL(typed)
		require.Error(t, err, typed)
		var f *failure.Failure
		require.ErrorAs(t, err, &f, typed)
		require.Equal(t, failure.KindUsage, f.Kind, typed)
	}
}

func TestServerOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers": { // as editors write it
		"remote": {"url": "https://h/mcp", "headers": {"X-Key": "${KEY}"}},
		"old": {"url": ":1/sse", "type": "sse"},
		"local": {"command": "server", "args": ["--flag"], "env": {"A": "b"}, "cwd": "/x"},
		"unset": {"url": "https://${NOTHING}/mcp"},
		"off": {"url": "https://h/mcp", "disabled": true},
	}}`), 0o600))
	lookup := func(name string) (string, bool) { return "secret", name == "KEY" }
	server := func(typed string) (Target, []string, error) {
		return Line{Operands: []string{typed, "echo"}}.Server(Defaults{Lookup: lookup})
	}
	got, rest, err := server(path + "#remote")
	require.NoError(t, err)
	require.Equal(t, []string{"echo"}, rest)
	require.Equal(t, "https://h/mcp", got.URL)
	require.Equal(t, [][2]string{{"X-Key", "secret"}}, got.Entry.Header)
	require.Contains(t, got.Entry.Secrets, "secret")
	require.Equal(t, []string{path + "#remote"}, got.Words())
	got, _, err = server(path + "#old")
	require.NoError(t, err)
	require.Equal(t, "http://localhost:1/sse", got.URL)
	require.True(t, got.Entry.SSE)
	got, _, err = server(path + "#local")
	require.NoError(t, err)
	require.Equal(t, []string{"server", "--flag"}, got.Argv)
	require.Equal(t, Entry{Dir: "/x", Env: []string{"A=b"}, Secrets: got.Entry.Secrets, File: path, Name: "local", Place: path + "#local"}, *got.Entry)
	require.Equal(t, []string{path + "#local"}, got.Words())
	for typed, want := range map[string]string{
		path: "has 5 servers: name one", path + "#nope": `has no server "nope"`, path + "#off": "is switched off", path + "#unset": "NOTHING is not set",
		path + "x.json#y": "no such file",
	} {
		_, _, err := server(typed)
		var f *failure.Failure
		require.ErrorAs(t, err, &f, typed)
		require.Equal(t, failure.KindUsage, f.Kind, typed)
		require.ErrorContains(t, err, want)
	}
}

// TestServer: the program after -- comes first, then -s, MCPCTL_SERVER and the first
// operand.
func TestServer(t *testing.T) {
	t.Parallel()
	const at = "http://h/mcp"
	program := []string{"server", "--flag"}
	for _, tt := range []struct {
		line  Line
		named Defaults
		want  Target
		rest  []string
		words []string
	}{
		{Line{Operands: []string{"echo"}, Program: program, Dashed: true}, Defaults{Env: at}, Target{Argv: program}, []string{"echo"}, nil},
		{Line{Operands: []string{"echo"}}, Defaults{Flag: at, Env: "http://other"}, Target{URL: at, Typed: at, byFlag: true}, []string{"echo"}, nil},
		{Line{Operands: []string{"echo"}}, Defaults{Env: at}, Target{URL: at, Typed: at, byEnv: true}, []string{"echo"}, []string{"-s", at}},
		{Line{Operands: []string{":1/mcp", "echo"}}, Defaults{}, Target{URL: "http://localhost:1/mcp", Typed: ":1/mcp"}, []string{"echo"}, []string{":1/mcp"}},
	} {
		got, rest, err := tt.line.Server(tt.named)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
		require.Equal(t, tt.rest, rest)
		require.Equal(t, tt.words, got.Words())
	}
	for want, tt := range map[string]struct {
		line  Line
		named Defaults
	}{
		"two servers: -s":  {Line{Program: program, Dashed: true}, Defaults{Flag: at}},
		"two servers: h":   {Line{Operands: []string{at}, Program: program, Dashed: true}, Defaults{}},
		"no program":       {Line{Dashed: true}, Defaults{}},
		"no server":        {Line{}, Defaults{}},
		"must come before": {Line{Operands: []string{"echo", at}}, Defaults{}},
	} {
		_, _, err := tt.line.Server(tt.named)
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, "https://h/x", Shown("https://me:secret@h/x?token=1#y"))
	require.Equal(t, "h:443", Address("https://h/x"))
}

func TestNamesOfAServer(t *testing.T) {
	t.Parallel()
	const at = "http://127.0.0.1:3000/mcp"
	for _, tt := range []struct {
		url         string
		same, other bool
	}{
		{at, true, false},
		{"HTTP://127.0.0.1:3000/mcp/", true, false},
		{"http://localhost:3000/mcp", false, true},
		{"http://LOCALHOST:3000/mcp", false, true},
		{"http://[::1]:3000/mcp", false, true},
		{"http://127.0.0.2:3000/mcp", false, false},
		{"http://localhost:3001/mcp", false, false},
		{"http://localhost:3000/other", false, false},
		{"https://localhost:3000/mcp", false, false},
		{"http://localhost:3000/mcp?a=b", false, false},
		{"http://localhost.example:3000/mcp", false, false},
		{"http://[", false, false},
	} {
		require.Equal(t, tt.same, SameServer(tt.url, at), tt.url)
		require.Equal(t, tt.other, OtherName(tt.url, at), tt.url)
		require.Equal(t, tt.other, OtherName(at, tt.url), tt.url)
	}
}
