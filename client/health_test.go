package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func healthOf(t *testing.T, method string, clients ...*client.Client) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	client.HealthHandler(clients...).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/health", nil))
	if w.Code == http.StatusMethodNotAllowed {
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		return w.Code, nil
	}
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var got map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	return w.Code, got
}

func TestHealth(t *testing.T) {
	t.Parallel()
	c, _ := connected(t)
	require.True(t, c.Healthy())
	_, err := c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)

	status, got := healthOf(t, http.MethodGet, c, nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", got["status"])
	servers := got["servers"].([]any)
	require.Len(t, servers, 1)
	server := servers[0].(map[string]any)
	require.Equal(t, "in-memory", server["server"])
	require.Equal(t, "stream", server["transport"])
	require.Equal(t, "2025-11-25", server["version"])
	require.Equal(t, true, server["healthy"])
	require.Equal(t, "ready", server["state"])
	require.InDelta(t, 0, server["in_flight"], 0)
	require.Equal(t, "CLOSED", server["breaker"].(map[string]any)["state"])
	cache := server["cache"].(map[string]any)
	require.Equal(t, false, cache["stale"])
	require.Positive(t, cache["tools"])

	c.InvalidateTools()
	require.True(t, c.Health().Cache.Stale)

	c.Breaker().Trip("no answer from https://user:hunter2@example.com/mcp?key=hunter2")
	require.False(t, c.Healthy())
	status, got = healthOf(t, http.MethodGet, c)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "unavailable", got["status"])
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Contains(t, string(raw), "example.com")
	require.NotContains(t, string(raw), "hunter2")

	status, _ = healthOf(t, http.MethodPost, c)
	require.Equal(t, http.StatusMethodNotAllowed, status)

	c.Breaker().Force(breaker.Bypass)
	require.True(t, c.Healthy())
	require.NoError(t, c.Close())
	require.False(t, c.Healthy())
	require.Equal(t, client.StateClosed, c.Health().State)
}

// A call that waits is in flight, and a health check does not wait with it.
func TestHealthWhileACallWaits(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	c, s := connected(t)
	s.on("tools/call", func(jsonrpc.Request) any {
		close(entered)
		<-leave
		return map[string]any{"content": []any{}}
	})
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "echo", hello)
		done <- err
	}()
	<-entered
	require.Equal(t, 1, c.Health().InFlight)
	close(leave)
	require.NoError(t, <-done)
	require.Zero(t, c.Health().InFlight)
}

func TestHealthWithoutBreakerAndTools(t *testing.T) {
	t.Parallel()
	c, _ := connected(t, client.WithResilience(client.Resilience{Off: true}), client.WithCache(client.CacheConfig{NoPreload: true}))
	require.True(t, c.Healthy())
	h := c.Health()
	require.Nil(t, h.Breaker)
	require.Nil(t, h.Cache)
	raw, err := json.Marshal(h)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "breaker")
}

// The limit is 5 ns and no allocation; the benchmark measures the time. Not parallel:
// AllocsPerRun counts the whole process.
func TestHealthyAllocatesNothing(t *testing.T) {
	c, _ := connected(t)
	require.Zero(t, testing.AllocsPerRun(1000, func() { healthySink = c.Healthy() }))
}

var healthySink bool

func BenchmarkHealthy(b *testing.B) {
	c, _ := connected(b)
	_ = c.Breaker()
	b.ReportAllocs()
	for b.Loop() {
		healthySink = c.Healthy()
	}
}

// A tool that fails has a circuit of its own, which does not make the server
// unhealthy; a hold is shown, and keeps calls back.
func TestHealthOfToolsAndHolds(t *testing.T) {
	t.Parallel()
	c, s := connected(t, seedProfile)
	require.Nil(t, c.Health().Tools)
	s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(jsonrpc.CodeInternalError, "broken", nil) })
	for range 5 {
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.Error(t, err)
	}
	h := c.Health()
	require.True(t, h.Healthy)
	require.Len(t, h.Tools, 1)
	require.Equal(t, breaker.Open, h.Tools[0].State)

	require.Zero(t, h.ThrottledFor)
	c.Throttle(-time.Second)
	require.Zero(t, c.ThrottledFor())
	c.Throttle(time.Hour)
	c.Throttle(time.Second) // it only grows
	h = c.Health()
	require.Greater(t, h.ThrottledFor, 59*time.Minute)
	raw, err := json.Marshal(h)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"throttled_for_ms":3`)
	require.Contains(t, string(raw), `"tools":[{"name":`)
	sent := s.count("tools/list")
	_, err = c.Call(t.Context(), "tools/list", nil)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.KindOverloaded, e.Kind)
	require.Equal(t, sent, s.count("tools/list"))
}
