package services_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
)

// TestHealth has the database take its time: /health answers below 100 ms
// (tools.md §2.9), of its own or of the database's accord.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		ping    time.Duration
		answers time.Duration
		status  int
		health  string
	}{
		{"quick", 3 * time.Millisecond, 3 * time.Millisecond, http.StatusOK, "healthy"},
		{"slow", 79 * time.Millisecond, 79 * time.Millisecond, http.StatusOK, "healthy"},
		{"stalled", time.Hour, 80 * time.Millisecond, http.StatusServiceUnavailable, "unhealthy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				handler := api.Handler(api.Options{Name: "task_tracking", Ping: func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(tc.ping):
						return nil
					}
				}})
				answer := httptest.NewRecorder()
				begin := time.Now()
				handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/health", nil))
				require.Equal(t, tc.answers, time.Since(begin))
				require.Equal(t, tc.status, answer.Code)
				var body map[string]any
				require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
				require.Equal(t, tc.health, body["status"])
			})
		})
	}
}
