package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if asChild() {
		return
	}
	testmain.Run(m)
}

func openAt(t testing.TB, path string, o Options) *Store {
	t.Helper()
	st, err := Open(t.Context(), path, o)
	if err != nil {
		t.Errorf("open: %v", err) // also called from goroutines of a test
		return nil
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) storetest.Open {
		// A path that a careless data source name would cut.
		path := filepath.Join(t.TempDir(), "a b?c#d%20e&f.db")
		return func(t testing.TB) store.Store { return openAt(t, path, Options{}) }
	})
}

func TestDurable(t *testing.T) {
	t.Parallel()
	for want, durable := range []bool{false, true} {
		st := openAt(t, filepath.Join(t.TempDir(), "a.db"), Options{Durable: durable})
		var mode string
		require.NoError(t, st.db.writer.QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode))
		require.Equal(t, "wal", mode)
		var sync int
		require.NoError(t, st.db.writer.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&sync))
		require.Equal(t, want+1, sync, "1 is NORMAL, 2 is FULL")
		_, err := st.db.reader.ExecContext(t.Context(), `DELETE FROM tasks`)
		require.ErrorContains(t, err, "readonly")
	}
}
