package client_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// lonely runs a test with a client of a server of the stateless era, in a bubble.
func lonely(t *testing.T, f func(t *testing.T, c *client.Client, s *lone), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		defer s.mem.Close()
		c, err := s.dial(opts...)
		require.NoError(t, err)
		defer func() { _ = c.Close() }() // also of a test that fails
		f(t, c, s)
	})
}

// G7: Close ends the pause before a retry, and the error tells what the attempts
// may have done.
func TestCloseEndsThePause(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]mcperrors.Delivery{
		http.StatusTooManyRequests: mcperrors.Rejected, http.StatusServiceUnavailable: mcperrors.Unknown,
	} {
		lonely(t, func(t *testing.T, c *client.Client, s *lone) {
			s.on("prompts/list", func(jsonrpc.Request) any { return status(code, "60") })
			ended := make(chan error, 1)
			go func() {
				_, err := c.Call(t.Context(), "prompts/list", nil)
				ended <- err
			}()
			time.Sleep(time.Second)
			began := time.Now()
			require.NoError(t, c.Close())
			var e *mcperrors.Error
			require.ErrorAs(t, <-ended, &e)
			require.LessOrEqual(t, time.Since(began), time.Second)
			require.Equal(t, mcperrors.KindClosed, e.Kind)
			require.ErrorIs(t, e, jsonrpc.ErrClosed)
			require.Equal(t, want, e.Delivery)
			require.Equal(t, 1, e.Attempts)
			require.False(t, e.Retryable)
		})
	}
}
