package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// renewed loses the session of a client while a request is on its way, has a ping
// find out, and returns when the notification of the new session was accepted:
// a second after the loss.
func renewed(t *testing.T, s *seedServer, c *client.Client) (accepted time.Time) {
	t.Helper()
	s.takes("initialize", 400*time.Millisecond)
	s.takes("notifications/initialized", 400*time.Millisecond)
	s.forget()
	pass(200 * time.Millisecond)
	require.NoError(t, c.Ping(t.Context()))
	require.Equal(t, 2, s.count("initialize"))
	for _, h := range s.heard() {
		if h.method == "notifications/initialized" {
			accepted = h.accepted
		}
	}
	return accepted
}

// A call that waits for its turn while the session is lost goes into the new one,
// after its handshake.
func TestQueuedCallWaitsForTheNewSession(t *testing.T) {
	t.Parallel()
	inBubbleOverHTTP(t, func(t *testing.T, s *seedServer) {
		r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 1, Queue: 1}}
		c := s.connected(t, client.WithResilience(r))
		s.takes("tools/call", 800*time.Millisecond)
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := c.CallTool(t.Context(), "echo", nil)
				ended <- err
			}()
			synctest.Wait()
		}
		accepted := renewed(t, s, c)
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		var calls []heard
		for _, h := range s.heard() {
			if h.method == "tools/call" {
				calls = append(calls, h)
			}
		}
		require.Len(t, calls, 2)
		require.False(t, calls[1].came.Before(accepted), "sent %s before the handshake was over", accepted.Sub(calls[1].came))
	})
}

// No second request goes beside one whose session is being replaced.
func TestHedgeWaitsForNoHandshake(t *testing.T) {
	t.Parallel()
	inBubbleOverHTTP(t, func(t *testing.T, s *seedServer) {
		s.answer("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}`)
		s.answer("resources/read", `{"contents":[{"uri":"x:1","text":"t"}]}`)
		r := client.Resilience{Hedge: client.Hedge{Share: 1, After: 700 * time.Millisecond}}
		c := s.connected(t, client.WithResilience(r))
		s.takes("resources/read", 900*time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, err := c.ReadResource(t.Context(), "x:1")
			ended <- err
		}()
		synctest.Wait()
		renewed(t, s, c)
		require.NoError(t, <-ended)
		require.Equal(t, 1, s.count("resources/read"))
		_, err := c.ReadResource(t.Context(), "x:1")
		require.NoError(t, err)
		require.Equal(t, 3, s.count("resources/read"), "hedged again in the new session")
	})
}

// A new session is not asked for before the server's Retry-After is over, either.
func TestNewSessionWaitsForRetryAfter(t *testing.T) {
	t.Parallel()
	inBubbleOverHTTP(t, func(t *testing.T, s *seedServer) {
		c := s.connected(t)
		s.forget()
		s.takes("ping", 500*time.Millisecond)
		pinged := make(chan error, 1)
		go func() { pinged <- c.Ping(t.Context()) }()
		synctest.Wait()
		s.status("tools/call", 429)
		_, err := c.CallTool(t.Context(), "echo", nil, client.WithRetryPolicy(client.RetryNever))
		require.Equal(t, mcperrors.CodeRateLimited, mcperrors.CodeOf(err))
		s.status("tools/call", 0)
		err = <-pinged
		require.Equal(t, mcperrors.CodeRateLimited, mcperrors.CodeOf(err))
		require.Equal(t, 2500*time.Millisecond, mcperrors.RetryAfter(err))
		require.True(t, mcperrors.SafeToRetry(err))
		require.Equal(t, 1, s.count("initialize"))

		time.Sleep(mcperrors.RetryAfter(err))
		_, err = c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, 2, s.count("initialize"))
	})
}

func inBubbleOverHTTP(t *testing.T, f func(t *testing.T, s *seedServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSeedServer(overJSON)
		defer s.stop()
		f(t, s)
	})
}
