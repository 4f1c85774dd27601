package connect

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

func dialer(f flags.Global, env map[string]string) *Dialer {
	lookup := func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
	return &Dialer{Flags: &f, Console: console.New(console.Streams{Env: lookup}, &f.Output), Secrets: &secret.Keeper{}}
}

func TestProgramEnv(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(file, []byte("# a comment\n\nexport A=1\nB = 'two words'\nC=\"x\n"), 0o600))
	d := dialer(flags.Global{EnvFiles: []string{file}, Env: []string{"A=2", "HOME_TOKEN"}}, map[string]string{"HOME_TOKEN": "t0k9"})
	got, err := d.programEnv()
	require.NoError(t, err)
	require.Equal(t, []string{"A=1", "B=two words", `C="x`, "A=2", "HOME_TOKEN=t0k9"}, got, "-e comes last and wins")
	require.NotContains(t, d.Secrets.Hide("with t0k9"), "t0k9")
	for want, env := range map[string]string{"needs a name": "=x", "the variable is not set": "NOT_HERE"} {
		_, err := dialer(flags.Global{Env: []string{env}}, nil).programEnv()
		require.ErrorContains(t, err, want)
	}
	_, err = envLines("f", "A=1\nnonsense\n")
	require.ErrorContains(t, err, "--env-file f: line 2 is not K=V")
}

func TestHeader(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(file, []byte("# a comment\nX-One: 1\n\nX-Two: 2\n"), 0o600))
	d := dialer(flags.Global{UserAgent: "me", Headers: []string{"Authorization: Bearer ${TOKEN}", "@" + file}}, map[string]string{"TOKEN": "t0ken99"})
	got, err := d.Header(target.Target{})
	require.NoError(t, err)
	require.Equal(t, http.Header{"User-Agent": {"me"}, "Authorization": {"Bearer t0ken99"}, "X-One": {"1"}, "X-Two": {"2"}}, got)
	require.NotContains(t, d.Secrets.Hide("you sent t0ken99"), "t0ken99", "a server may repeat the credentials without their scheme")
	for want, header := range map[string]string{
		"write a header as": "nonsense", "NOT_HERE is not set": "X: ${NOT_HERE}", "not allowed in a header": "X: a\nb", "no such file": "@" + file + ".none",
	} {
		_, err := dialer(flags.Global{Headers: []string{header}}, nil).Header(target.Target{})
		require.ErrorContains(t, err, want)
	}
}
