package watch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// get returns the status and the body of one page of the health.
func get(t *testing.T, h *Health, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.Handler(true).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:1"+path, nil))
	return w.Code, w.Body.String()
}

func newHealth() *Health {
	return &Health{Safe: func(s string) string { return s }}
}

// The proxy is ready until a contact with the server fails, says why, and is ready again after
// one that works, or after a time in which nobody tried.
func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		calls := 0
		s.Tool("t", "", func(*clienttest.Call) (any, error) {
			if calls++; calls == 1 {
				return nil, clienttest.ErrCut
			}
			return clienttest.Text("ok"), nil
		})
		h := newHealth()
		var missing error
		to := h.Watch("files", func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
			if missing != nil {
				return nil, missing
			}
			return client.Connect(ctx, s.Transport(), opts...)
		})
		ready := func(want int, part string) {
			t.Helper()
			code, body := get(t, h, "/readyz")
			require.Equal(t, want, code, body)
			require.Contains(t, body, part)
		}
		ready(http.StatusOK, `{"status":"ok","servers":[{"name":"files","status":"ok"}]}`)

		missing = errors.New("no such program")
		_, err := to(t.Context())
		require.ErrorIs(t, err, missing)
		ready(http.StatusServiceUnavailable, `"reason":"no such program"`)
		time.Sleep(failureFor)
		ready(http.StatusOK, `"status":"ok"`)
		_, err = to(t.Context())
		require.Error(t, err)
		ready(http.StatusServiceUnavailable, `"unavailable"`)

		missing = nil
		c, err := to(t.Context())
		require.NoError(t, err)
		ready(http.StatusOK, `"status":"ok"`)
		_, err = c.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"t"}`))
		require.Error(t, err)
		ready(http.StatusServiceUnavailable, `"reason":"`)
		_, err = c.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"t"}`))
		require.NoError(t, err)
		ready(http.StatusOK, `"status":"ok"`)
		synctest.Wait() // events come from another goroutine
		_, metrics := get(t, h, "/metrics")
		require.Contains(t, metrics, "mainstay_proxy_restarts_total 1\n")
		require.NoError(t, c.Close())
		ready(http.StatusOK, `"status":"ok"`)

		other := h.Watch("other", func(context.Context, ...client.Option) (*client.Client, error) { return nil, errors.New("gone") })
		_, err = other(t.Context())
		require.Error(t, err)
		ready(http.StatusOK, `{"status":"degraded","servers":[{"name":"files","status":"ok"},{"name":"other","status":"unavailable","reason":"gone"}]}`)
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHealth()
	for _, r := range []proxy.Record{
		{Method: mcp.MethodToolsCall, Tool: `evil"}`, Outcome: proxy.OutcomeOK, Duration: 5 * time.Millisecond},
		{Method: mcp.MethodToolsCall, Outcome: proxy.OutcomeFailed, Duration: 2 * time.Second},
		{Method: mcp.MethodToolsCall, Outcome: proxy.OutcomeOK, Duration: time.Hour},
		{Method: `evil"} 1`, Outcome: proxy.OutcomeError},
		{Method: mcp.MethodElicitationCreate, Outcome: proxy.OutcomeError},
	} {
		h.Add(t.Context(), r)
	}
	code, got := get(t, h, "/metrics")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, `# HELP mainstay_proxy_requests_total Requests of hosts that were answered.
# TYPE mainstay_proxy_requests_total counter
mainstay_proxy_requests_total{method="other",outcome="error"} 2
mainstay_proxy_requests_total{method="tools/call",outcome="failed"} 1
mainstay_proxy_requests_total{method="tools/call",outcome="ok"} 2
# HELP mainstay_proxy_open_requests Requests of hosts that wait for their answers.
# TYPE mainstay_proxy_open_requests gauge
mainstay_proxy_open_requests 0
# HELP mainstay_proxy_sessions Hosts of the session era.
# TYPE mainstay_proxy_sessions gauge
mainstay_proxy_sessions 0
# HELP mainstay_proxy_restarts_total Programs that were started again.
# TYPE mainstay_proxy_restarts_total counter
mainstay_proxy_restarts_total 0
# HELP mainstay_proxy_request_duration_seconds Time from a request of a host to its answer.
# TYPE mainstay_proxy_request_duration_seconds histogram
mainstay_proxy_request_duration_seconds_bucket{method="other",le="0.01"} 2
mainstay_proxy_request_duration_seconds_bucket{method="other",le="0.1"} 2
mainstay_proxy_request_duration_seconds_bucket{method="other",le="1"} 2
mainstay_proxy_request_duration_seconds_bucket{method="other",le="10"} 2
mainstay_proxy_request_duration_seconds_bucket{method="other",le="60"} 2
mainstay_proxy_request_duration_seconds_bucket{method="other",le="+Inf"} 2
mainstay_proxy_request_duration_seconds_sum{method="other"} 0
mainstay_proxy_request_duration_seconds_count{method="other"} 2
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="0.01"} 1
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="0.1"} 1
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="1"} 1
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="10"} 2
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="60"} 2
mainstay_proxy_request_duration_seconds_bucket{method="tools/call",le="+Inf"} 3
mainstay_proxy_request_duration_seconds_sum{method="tools/call"} 3602.005
mainstay_proxy_request_duration_seconds_count{method="tools/call"} 3
`, got)
}

// Web pages reach this machine under names of their own.
func TestHealthHost(t *testing.T) {
	t.Parallel()
	h := newHealth()
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:9": 200, "127.0.0.1:9": 200, "[::1]:9": 200, "[::1]": 200, "evil.example": 403, "evil.example:9": 403, "192.0.2.1": 403,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/livez", nil)
		w := httptest.NewRecorder()
		h.Handler(true).ServeHTTP(w, r)
		require.Equal(t, want, w.Code, host)
		w = httptest.NewRecorder()
		h.Handler(false).ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/metrics", nil)
	w := httptest.NewRecorder()
	h.Handler(true).ServeHTTP(w, r)
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}
