package backend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	st, err := Open(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, st.Ping(t.Context()))
	require.NoError(t, st.Close())
	info, err := os.Stat(filepath.Join(dir, File))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	for want, o := range map[string]Options{
		"neither a database URL nor a data folder": {},
		"begins neither with postgres://":          {URL: "mysql://user:hunter2@db/x", Dir: dir},
		"database is unavailable":                  {URL: "postgresql://u:hunter2@127.0.0.1:1/x?sslmode=disable"},
	} {
		_, err := Open(t.Context(), o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
