package services_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/backend"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
)

// TestSoak_REST has 50 callers take ids over HTTP, on both back ends: not one
// twice, not one missing. 10,000 allocations when MAINSTAY_SOAK is set.
func TestSoak_REST(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t testing.TB) store.Store{
		"sqlite":   func(t testing.TB) store.Store { return openSQLite(t, t.TempDir()) },
		"postgres": openPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *services.Options) {
				o.Store = open(t)
				o.Logger = nil
			})
			soak(t, r)
		})
	}
}

func soak(t *testing.T, r *rig) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	total := storetest.Soak()
	var mu sync.Mutex
	seen := make(map[string]bool, total)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := 0; i < total/callers; i++ {
				ids, err := takeIDs(t, client, r.IDsURL, 1+(caller%2)*3)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, id := range ids {
					if seen[id] {
						t.Errorf("%s was handed out twice", id)
					}
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	begin := time.Now()
	all.Wait()
	t.Logf("%d allocations by %d callers in %v", total, callers, time.Since(begin).Round(time.Millisecond))
	for i := 1; i <= len(seen); i++ {
		require.True(t, seen[fmt.Sprintf("US-%03d", i)], "id %d is missing", i)
	}
	require.Len(t, seen, total/2+total/2*4)
}

// takeIDs takes one id, or a range whose numbers must follow each other.
func takeIDs(t *testing.T, client *http.Client, base string, count int) ([]string, error) {
	method, path, body := "GET", "/ids/next?type=US&project=p", ""
	if count > 1 {
		method, path, body = "POST", "/ids/reserve", fmt.Sprintf(`{"type":"US","count":%d,"project_id":"p"}`, count)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	var got struct {
		NextID      string   `json:"next_id"`
		ReservedIDs []string `json:"reserved_ids"`
		Error       string   `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return nil, err
	}
	if err := res.Body.Close(); err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", res.Status, got.Error)
	}
	if count == 1 {
		return []string{got.NextID}, nil
	}
	var first int64
	if _, err := fmt.Sscanf(got.ReservedIDs[0], "US-%d", &first); err != nil {
		return nil, err
	}
	for i, id := range got.ReservedIDs {
		if id != store.FormatID("US", first+int64(i)) || len(got.ReservedIDs) != count {
			return nil, fmt.Errorf("the range %v is not contiguous", got.ReservedIDs)
		}
	}
	return got.ReservedIDs, nil
}

// postgresURL is the URL of a schema of the test's own, which goes with it.
func postgresURL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("MAINSTAY_TEST_POSTGRES")
	if server == "" {
		t.Skip("MAINSTAY_TEST_POSTGRES is not set: no PostgreSQL to test on")
	}
	schema := "services_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	ctx := context.WithoutCancel(t.Context())
	run := func(sql string) {
		conn, err := pgx.Connect(ctx, server)
		require.NoError(t, err)
		_, err = conn.Exec(ctx, sql)
		require.NoError(t, err)
		require.NoError(t, conn.Close(ctx))
	}
	run("CREATE SCHEMA " + schema)
	t.Cleanup(func() { run("DROP SCHEMA " + schema + " CASCADE") })
	u, err := url.Parse(server)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", schema)
	if _, measured := t.(*testing.B); !measured {
		q.Set("synchronous_commit", "off") // no test has the power fail
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func openPostgres(t testing.TB) store.Store {
	t.Helper()
	st, err := backend.Open(t.Context(), backend.Options{URL: postgresURL(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}
