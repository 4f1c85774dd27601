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

// G4 and E5: an attempt that may have been executed is not forgotten when the one
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

// Calls that succeed at once pay for later retries (resilience.md 3.7).
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

// A call that is refused when it would be made again says when it may be: as late
// as the circuit that refused it (resilience.md 3.6).
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
