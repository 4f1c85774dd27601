package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// quick is a policy whose own waits are nothing beside what a server asks for.
func quick(budget int) client.Option {
	r := client.Resilience{Retry: client.Retry{Policy: client.RetryAlways, MinPause: time.Millisecond, MaxPause: time.Millisecond, Budget: budget}}
	r.Breaker = breaker.New(breaker.Settings{FailureThreshold: 1 << 20})
	return client.WithResilience(r)
}

// exhaust fails reads until none is made again any more.
func exhaust(t *testing.T, c *client.Client, s *lone) {
	t.Helper()
	s.on("prompts/list", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
	for range 20 {
		before := len(s.of("prompts/list"))
		_, err := c.Call(t.Context(), "prompts/list", nil)
		require.Error(t, err)
		if len(s.of("prompts/list")) == before+1 {
			return
		}
	}
	require.Fail(t, "the budget has no end")
}

// An attempt that may have been executed is not forgotten when the one
// after it was refused and the call is given up in the pause before a third.
func TestDoubtStaysInThePause(t *testing.T) {
	t.Parallel()
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		n := 0
		s.on("tools/call", func(jsonrpc.Request) any {
			if n++; n == 1 {
				return status(http.StatusBadGateway, "")
			}
			return status(http.StatusTooManyRequests, "60")
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, cancel)
		_, err := c.CallTool(ctx, "deploy", nil, client.WithoutValidation())
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2, n)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
	}, quick(0))
}

// Calls that succeed at once pay for later retries.
func TestBudgetEarns(t *testing.T) {
	t.Parallel()
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		exhaust(t, c, s)
		s.on("prompts/list", func(jsonrpc.Request) any { return json.RawMessage(`{"resultType":"complete","prompts":[]}`) })
		for range 20 {
			_, err := c.Call(t.Context(), "prompts/list", nil)
			require.NoError(t, err)
		}
		s.on("prompts/list", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
		before := len(s.of("prompts/list"))
		_, err := c.Call(t.Context(), "prompts/list", nil)
		require.Error(t, err)
		require.Greater(t, len(s.of("prompts/list")), before+1)
	}, quick(1))
}

// A call whose retry is refused reports when to call again: when the circuit that
// refused it allows that.
func TestRefusedRetrySaysWhen(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Retry: client.Retry{Policy: client.RetryAlways, MinPause: time.Millisecond, MaxPause: time.Millisecond}}
	r.Breaker = breaker.New(breaker.Settings{FailureThreshold: 1, Cooldown: 30 * time.Second})
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("prompts/list", func(jsonrpc.Request) any {
			r.Breaker.Trip("other calls have failed")
			return status(http.StatusBadGateway, "")
		})
		_, err := c.Call(t.Context(), "prompts/list", nil)
		require.Error(t, err)
		require.Len(t, s.of("prompts/list"), 1)
		require.Greater(t, mcperrors.RetryAfter(err), 25*time.Second)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
	}, client.WithResilience(r))
}

// In a total outage retries are a tenth of the traffic at most, whatever the
// circuit does.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Breaker: breaker.New(breaker.Settings{FailureThreshold: 1 << 20})}
	m := &recordingMeter{}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		for range 200 {
			_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
			require.NoError(t, err)
		}
		before := s.count("tools/list")
		s.on("tools/list", func(jsonrpc.Request) any { return jsonrpc.NewError(-32000, "no", nil) })
		began := time.Now()
		for range 500 {
			_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
			require.Error(t, err)
		}
		extra := s.count("tools/list") - before - 500
		floor := 3 * (int(time.Since(began)/(10*time.Second)) + 1)
		require.LessOrEqual(t, extra, 10+floor, "a full budget, and three in 10 s")
		require.Positive(t, m.count(client.RetryDenied))
		require.Contains(t, m.denied(), client.DeniedByBudget)
		require.Equal(t, extra, m.count(client.Retried))
	}, client.WithResilience(r), client.WithMeter(m))
}

// A denied retry reports whether the budget, the time or the attempts were used up. A
// retry that would not be safe or would not help is not denied.
func TestRetryDenied(t *testing.T) {
	t.Parallel()
	busy := func(data string) func(jsonrpc.Request) any {
		return func(jsonrpc.Request) any { return jsonrpc.NewError(500, "no", json.RawMessage(data)) }
	}
	locked := busy(`{"code":"DB_LOCKED","retryable":true,"retry_after_seconds":30}`)
	for _, tt := range []struct {
		name   string
		answer func(jsonrpc.Request) any
		budget int
		want   []client.RetryDenial
	}{
		{"tried often enough", busy(`{"code":"DB_LOCKED","retryable":true}`), -1, []client.RetryDenial{client.DeniedByAttempts}},
		{"no time", locked, -1, []client.RetryDenial{client.DeniedByTime}},
		{"no budget", busy(`{"code":"DB_LOCKED","retryable":true}`), 1, []client.RetryDenial{client.DeniedByBudget}},
		{"may have been done", busy(`{}`), -1, nil},
		{"would end the same way", busy(`{"code":"INVALID_PARAM"}`), -1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, r := &recordingMeter{}, client.Resilience{}
			r.Retry.Budget, r.Retry.Attempts = tt.budget, 5
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on("tools/call", tt.answer)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := c.CallTool(ctx, "echo", hello)
				require.Error(t, err)
				require.Equal(t, tt.want, m.denied(), "%v", err)
			}, storeProfile, client.WithMeter(m), client.WithResilience(r))
		})
	}
}
