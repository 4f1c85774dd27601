package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Where readiness decides about traffic, no call comes to a client that is not
// ready: the question itself has to find out that the server is back.
func TestReadinessHealsWithoutTraffic(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		probes := func() int { return p.count("ping") + p.count("server/discover") }
		ask := func() int {
			status, _ := healthOf(t, http.MethodGet, c)
			synctest.Wait()
			return status
		}
		before := probes()
		require.Equal(t, http.StatusOK, ask())
		c.Breaker().Trip("an outage")
		for range 29 {
			require.Equal(t, http.StatusServiceUnavailable, ask())
			time.Sleep(time.Second)
		}
		require.Equal(t, before, probes(), "healthy, or before the end of the cooldown: nothing is sent")
		require.Zero(t, c.Breaker().Snapshot().Refused, "a question is no call that was refused")

		time.Sleep(2 * time.Second)
		require.Equal(t, http.StatusServiceUnavailable, ask(), "the answer does not wait for the probe")
		require.Equal(t, http.StatusOK, ask())
		require.Equal(t, before+1, probes())
		require.True(t, c.Breaker().Snapshot().Probation, "a probe proves little")
		require.Zero(t, p.count("tools/call"))
	})
}

// However often Healthy is called, the client probes its server once a cooldown, and
// not at all while the breaker is forced or throttled.
func TestReadinessLeavesServersAlone(t *testing.T) {
	t.Parallel()
	away := func(context.Context, int, transport.Request) (transport.Answer, error) {
		return transport.Answer{}, noConnection()
	}
	silent := func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
		return unansweredRequest(ctx, req)
	}
	for name, tt := range map[string]struct {
		answer func(context.Context, int, transport.Request) (transport.Answer, error)
		set    func(*client.Client)
		want   int // probes within 90 s
	}{
		"away":          {away, func(*client.Client) {}, 3},
		"silent":        {silent, func(*client.Client) {}, 3},
		"forced open":   {away, func(c *client.Client) { c.Breaker().Force(breaker.ForcedOpen) }, 0},
		"held (503)":    {away, func(c *client.Client) { c.Breaker().Throttle(time.Hour, "503") }, 0},
		"held (429)":    {away, func(c *client.Client) { c.Throttle(time.Hour) }, 0},
		"closed client": {away, func(c *client.Client) { _ = c.Close() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedServer("2025-11-25")
				s.answer = tt.answer
				c := s.opened(t)
				tt.set(c)
				for range 900 {
					require.False(t, c.Healthy())
					require.Equal(t, client.HealthUnavailable, c.Health().Status)
					time.Sleep(100 * time.Millisecond)
				}
				require.Equal(t, tt.want, s.count("ping"))
			})
		})
	}
}

// A probe that was refused before it was sent, and a circuit that takes several,
// leave it half-open: the next question goes on.
func TestReadinessHealsHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			return resultOf(req, `{}`)
		}
		r := client.Resilience{Breaker: breaker.New(breaker.Settings{HalfOpenMax: 3})}
		c := s.opened(t, client.WithResilience(r))
		permit, err := r.Breaker.Acquire()
		require.NoError(t, err)
		require.False(t, c.Healthy())
		require.Zero(t, s.count("ping"), "somebody probes already")
		permit.Release()
		for range 3 {
			require.False(t, c.Healthy())
			synctest.Wait()
		}
		require.True(t, c.Healthy())
		require.Equal(t, 3, s.count("ping"))
	})
}

// A session that was lost and could not be opened again is opened by the
// question, at the pace of calls.
func TestReadinessOpensTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "initialize" {
				return transport.Answer{}, noConnection()
			}
			return transport.Answer{}, noSession()
		}
		c := s.dial(t)
		require.Error(t, useTool(t.Context(), c))
		require.Equal(t, client.StateBackoff, c.State())
		for range 60 {
			require.False(t, c.Healthy())
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		tried := s.count("initialize")
		require.Greater(t, tried, 2)
		require.Less(t, tried, 10, "at the pace of calls")

		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			return resultOf(req, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`)
		}
		for range 60 {
			_ = c.Healthy()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		require.True(t, c.Healthy())
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, 1, s.count("tools/call"), "no call was needed")
	})
}

// A health check shows a tool with an open circuit, and does not keep traffic away from
// the other tools.
func TestHealthDegraded(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		requireHealth(t, client.HealthHandler(c), http.StatusOK, "ok")
		p.answer("tools/call", func(json.RawMessage) string { return peerInternal })
		for range 5 {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "x"})
			require.Error(t, err)
		}
		require.True(t, c.Healthy())
		require.Equal(t, client.HealthDegraded, c.Health().Status)
		got := requireHealth(t, client.HealthHandler(c), http.StatusOK, "degraded")
		require.Equal(t, "degraded", got[0]["status"])
		require.Len(t, got[0]["tools"], 1)
		other, _ := connected(t)
		require.Equal(t, "ok", requireHealth(t, client.HealthHandler(c, other), http.StatusOK, "degraded")[1]["status"])

		p.answer("tools/call", func(json.RawMessage) string { return `"result":` + peerReturn })
		time.Sleep(31 * time.Second)
		requireHealth(t, client.HealthHandler(c), http.StatusOK, "degraded") // only a call tells
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "x"})
		require.NoError(t, err)
		requireHealth(t, client.HealthHandler(c), http.StatusOK, "ok")

		for mode, want := range map[breaker.Mode]client.HealthStatus{
			breaker.ForcedOpen: client.HealthDegraded, breaker.Bypass: client.HealthOK,
		} {
			c.ToolBreakers().Get("echo").Force(mode)
			require.Equal(t, want, c.Health().Status, mode)
		}
		c.Breaker().Trip("an outage")
		requireHealth(t, client.HealthHandler(c), http.StatusServiceUnavailable, "unavailable")
	}, seedProfile)
}

// requireHealth calls a handler, and returns its entry for each server.
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
