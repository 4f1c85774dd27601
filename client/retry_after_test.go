package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Retry-After is the earliest a server is asked again, by this call and by
// others: a 503 holds back all who share its circuit, and longer than the
// cooldown.
func TestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		c, err := s.dial()
		require.NoError(t, err)
		busy := true
		s.on("tools/call", func(jsonrpc.Request) any {
			if busy {
				return status(http.StatusServiceUnavailable, "120")
			}
			return json.RawMessage(doneResult)
		})
		_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.Unknown, e.Delivery, "a proxy may have passed it on")
		require.Equal(t, 1, e.Attempts)
		require.Equal(t, 120*time.Second, e.RetryAfter)
		sent, began := len(s.of("tools/call")), time.Now()
		for time.Since(began) < 119*time.Second {
			_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
			require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
			require.Equal(t, 120*time.Second-time.Since(began), mcperrors.RetryAfter(err))
			time.Sleep(7 * time.Second)
		}
		require.Len(t, s.of("tools/call"), sent)
		busy = false
		time.Sleep(2 * time.Second)
		_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
		require.NoError(t, err)
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}

// A call whose deadline is before the server's Retry-After fails at once, and its error
// has that time.
func TestRetryAfterBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []string{"7", "1000000"} {
			s := newLone(t)
			c, err := s.dial()
			require.NoError(t, err)
			s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusTooManyRequests, after) })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			began := time.Now()
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation())
			cancel()
			require.Zero(t, time.Since(began))
			require.Equal(t, mcperrors.CodeRateLimited, mcperrors.CodeOf(err))
			require.GreaterOrEqual(t, mcperrors.RetryAfter(err), 7*time.Second)
			require.Len(t, s.of("tools/call"), 1)
			require.Equal(t, breaker.Closed, c.Breaker().State())
			require.NoError(t, c.Close())
			s.mem.Close()
		}
	})
}
