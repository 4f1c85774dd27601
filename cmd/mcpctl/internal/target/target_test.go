package target

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

func TestServerURL(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"https://x/mcp": "https://x/mcp", "http://x:1": "http://x:1", ":3000/mcp": "http://localhost:3000/mcp",
		"localhost:3000/mcp": "http://localhost:3000/mcp", ":3000": "http://localhost:3000",
	} {
		got, err := parseURL(typed)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, typed := range []string{"@x", "htp://x", "http://", "http:///mcp", "x.json#y", "cursor:x", "unix:///s", "name", "http://a b/", "a.snap.json", "b.jsonl", ""} {
		_, err := parseURL(typed)
		require.Error(t, err, typed)
		var f *failure.Failure
		require.ErrorAs(t, err, &f, typed)
		require.Equal(t, failure.KindUsage, f.Kind, typed)
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
