package pool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/pool"
)

// requireHealth calls a handler, and returns its report of each server.
func requireHealth(t *testing.T, h http.Handler, code int, status string) []map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", nil))
	require.Equal(t, code, w.Code)
	var got struct {
		Status  string           `json:"status"`
		Servers []map[string]any `json:"servers"`
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, status, got.Status)
	return got.Servers
}

// A pool is ready while one of its servers and all required ones are.
func TestPoolHealthHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := true
		mood := func(int) error {
			if away {
				return refuses(0)
			}
			return nil
		}
		files := toolServer(t, "files", "read")
		p, err := pool.Open(t.Context(), []pool.Server{
			serverAt("files", files.Transport()), serverAt("db", toolServer(t, "db", "query").Transport()),
			serverAt("web", &moody{Transport: toolServer(t, "web", "search").Transport(), mood: mood}),
		}, pool.WithRequiredServers("files"))
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		h := p.HealthHandler()
		got := requireHealth(t, h, http.StatusOK, "degraded")
		require.Equal(t, []any{"ok", "ok", "unavailable"}, []any{got[0]["status"], got[1]["status"], got[2]["status"]})
		require.Equal(t, "failed", got[2]["state"])
		require.Contains(t, got[2]["last_error"], "connection refused")
		away = false
		require.NoError(t, p.Reconnect(t.Context(), "web"))
		requireHealth(t, h, http.StatusOK, "ok")

		db, err := p.Client("db")
		require.NoError(t, err)
		db.Breaker().Trip("an outage")
		got = requireHealth(t, h, http.StatusOK, "degraded")
		require.Equal(t, "connected", got[1]["state"])
		require.Equal(t, "unavailable", got[1]["status"])
		needed, err := p.Client("files")
		require.NoError(t, err)
		needed.Breaker().Trip("an outage")
		requireHealth(t, h, http.StatusServiceUnavailable, "unavailable")
		time.Sleep(31 * time.Second)
		requireHealth(t, h, http.StatusServiceUnavailable, "unavailable")
		synctest.Wait()
		requireHealth(t, h, http.StatusOK, "ok")
		require.Zero(t, files.Count("tools/call"))

		require.NoError(t, p.Close())
		requireHealth(t, h, http.StatusServiceUnavailable, "unavailable")
	})
}

// Without required servers, one server has to be connected.
func TestPoolHealthWithoutRequiredServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("a", toolServer(t, "a", "x").Transport()), serverAt("b", toolServer(t, "b", "y").Transport())})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		for i, want := range []struct {
			code   int
			status string
		}{{http.StatusOK, "degraded"}, {http.StatusServiceUnavailable, "unavailable"}} {
			c, err := p.Client(p.Servers()[i])
			require.NoError(t, err)
			c.Breaker().Trip("an outage")
			requireHealth(t, p.HealthHandler(), want.code, want.status)
		}
		none, err := pool.Open(t.Context(), nil)
		require.NoError(t, err)
		requireHealth(t, none.HealthHandler(), http.StatusOK, "ok")
		require.NoError(t, none.Close())
		requireHealth(t, none.HealthHandler(), http.StatusServiceUnavailable, "unavailable")
	})
}
