package breaker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

type health struct {
	Status   string           `json:"status"`
	Breakers []map[string]any `json:"breakers"`
}

func ask(t *testing.T, h http.Handler, method string) (int, health) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/health", nil))
	var got health
	if method == http.MethodGet {
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	}
	return w.Code, got
}

// State and the health handler show the state and the counts.
func TestAC_006_7_StateIsObservable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := breaker.New(breaker.Settings{Name: "a"})
		b := breaker.New(breaker.Settings{Name: "b"})
		h := breaker.Handler(a, b)
		settle(t, a, breaker.Success)
		settle(t, b, breaker.Failure)

		status, got := ask(t, h, http.MethodGet)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ok", got.Status)
		require.Len(t, got.Breakers, 2)
		require.Equal(t, "CLOSED", got.Breakers[0]["state"])
		require.EqualValues(t, 1, got.Breakers[1]["consecutive_failures"])

		opening := time.Now()
		for range 4 {
			settle(t, b, breaker.Failure)
		}
		time.Sleep(10*time.Second + 500*time.Microsecond)
		status, got = ask(t, h, http.MethodGet)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "unavailable", got.Status)
		require.Equal(t, map[string]any{
			"name": "b", "state": "OPEN", "consecutive_failures": 5.0,
			"since": opening.UTC().Format(time.RFC3339Nano), "retry_after_ms": 20000.0,
			"opens": 1.0, "generation": 2.0, "requests": 5.0, "refused": 0.0,
			"successes": 0.0, "failures": 5.0, "neutrals": 0.0,
			"mode": "auto", "reason": "failures in a row", "throttled": false, "probation": false,
			"suspect": false, "probe_in_flight": false, "last_failure_at": opening.UTC().Format(time.RFC3339Nano),
		}, got.Breakers[1])

		time.Sleep(time.Minute) // a health check does not make it HALF_OPEN
		status, got = ask(t, h, http.MethodGet)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "OPEN", got.Breakers[1]["state"])
		require.EqualValues(t, 0, got.Breakers[1]["retry_after_ms"])

		p, err := b.Acquire()
		require.NoError(t, err)
		status, got = ask(t, h, http.MethodGet)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "HALF_OPEN", got.Breakers[1]["state"])
		p.Settle(breaker.Success)
	})
}

func TestHandlerMethods(t *testing.T) {
	t.Parallel()
	h := breaker.Handler()
	status, got := ask(t, h, http.MethodGet)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, health{"ok", []map[string]any{}}, got)
	status, _ = ask(t, h, http.MethodHead)
	require.Equal(t, http.StatusOK, status)
	status, _ = ask(t, h, http.MethodPost)
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "State(9)", breaker.State(9).String())
	require.Equal(t, "success failure neutral Verdict(7)",
		breaker.Success.String()+" "+breaker.Failure.String()+" "+breaker.Neutral.String()+" "+breaker.Verdict(7).String())
	require.Equal(t, "tentative fatal", breaker.Tentative.String()+" "+breaker.Fatal.String())
	require.Equal(t, "auto forced_open bypass Mode(9)", fmt.Sprint(breaker.Auto, breaker.ForcedOpen, breaker.Bypass, breaker.Mode(9)))
	text, err := json.Marshal(breaker.HalfOpen)
	require.NoError(t, err)
	require.Equal(t, `"HALF_OPEN"`, string(text))
}

// A snapshot shows everything that refuses calls or may do so soon.
func TestSnapshotAsJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "b"})
		b.Trip("silence")
		time.Sleep(31 * time.Second)
		_, err := b.Acquire()
		require.NoError(t, err)
		b.Throttle(time.Minute, "429")
		b.Suspect(time.Minute)
		b.Force(breaker.ForcedOpen)
		status, got := ask(t, breaker.Handler(b), http.MethodGet)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, map[string]any{
			"name": "b", "state": "HALF_OPEN", "mode": "forced_open", "reason": "cooldown over",
			"consecutive_failures": 1.0, "since": "2000-01-01T00:00:31Z", "retry_after_ms": 60000.0,
			"throttled": true, "throttle_reason": "429", "probation": false, "suspect": true, "probe_in_flight": true,
			"last_failure": "silence", "last_failure_at": "2000-01-01T00:00:00Z",
			"opens": 1.0, "generation": 3.0, "requests": 1.0, "refused": 0.0, "successes": 0.0, "failures": 0.0, "neutrals": 0.0,
		}, got.Breakers[0])
		b.Force(breaker.Bypass)
		status, _ = ask(t, breaker.Handler(b), http.MethodGet)
		require.Equal(t, http.StatusOK, status)
		time.Sleep(time.Hour) // the probe's lease
	})
}
