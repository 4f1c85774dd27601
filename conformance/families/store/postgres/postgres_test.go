package postgres

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if path, ok := killedChild(); ok {
		runKilledChild(path)
		return
	}
	testmain.Run(m)
}

// schemaURL is the URL of a schema of the test's own, which goes with it.
// Options are added to it.
func schemaURL(t testing.TB, options ...string) string {
	t.Helper()
	server := os.Getenv("MAINSTAY_TEST_POSTGRES")
	if server == "" {
		t.Skip("MAINSTAY_TEST_POSTGRES is not set: no PostgreSQL to test on")
	}
	schema := "store_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run := func(sql string) {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), server)
		require.NoError(t, err)
		_, err = conn.Exec(context.WithoutCancel(t.Context()), sql)
		require.NoError(t, err)
		require.NoError(t, conn.Close(context.WithoutCancel(t.Context())))
	}
	run("CREATE SCHEMA " + schema)
	t.Cleanup(func() { run("DROP SCHEMA " + schema + " CASCADE") })
	u, err := url.Parse(server)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", schema)
	q.Set("synchronous_commit", "off") // no test has the power fail
	for i := 0; i < len(options); i += 2 {
		q.Set(options[i], options[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func openAt(t testing.TB, url string) *Store {
	t.Helper()
	st, err := Open(t.Context(), url)
	if err != nil {
		t.Errorf("open: %v", err) // also called from goroutines of a test
		return nil
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func TestStore(t *testing.T) {
	t.Parallel()
	if os.Getenv("MAINSTAY_TEST_POSTGRES") == "" {
		t.Skip("MAINSTAY_TEST_POSTGRES is not set: no PostgreSQL to test on")
	}
	storetest.Run(t, func(t testing.TB) storetest.Open {
		// Few connections each: the server is shared with other tests.
		url := schemaURL(t, "pool_max_conns", "8")
		return func(t testing.TB) store.Store { return openAt(t, url) }
	})
}
