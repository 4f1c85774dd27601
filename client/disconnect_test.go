package client_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// ends hands over the Disconnected events.
func ends(into chan<- client.Disconnected) client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		if d, ok := e.(client.Disconnected); ok {
			into <- d
		}
	})
}

// The end of a program that is not restarted is one event, and from then on every call
// fails with it, even if the circuit is open.
func TestProgramThatEndsIsToldOf(t *testing.T) {
	t.Parallel()
	told := make(chan client.Disconnected, 2)
	c, err := dialSituation(t, "ends in a call", sessionEra, client.WithCache(client.CacheConfig{NoPreload: true}), ends(told), client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}}))
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", message, client.WithoutValidation())
	require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), err)
	select {
	case d := <-told:
		var e *mcperrors.Error
		require.ErrorAs(t, d.Cause, &e)
		require.Equal(t, 4, e.Process.Exit)
		require.Equal(t, []string{"panic: out of luck"}, e.Process.Stderr)
		require.ErrorContains(t, e, "the server has exited")
	case <-time.After(20 * time.Second):
		require.Fail(t, "no event")
	}
	for range 10 { // more than it takes to open the circuit
		_, err = c.CallTool(t.Context(), "echo", message, client.WithoutValidation())
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, false}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, err)
		require.True(t, strings.HasPrefix(e.Message, "the server has exited"), e.Message)
		require.Zero(t, e.RetryAfter)
	}
	require.NoError(t, c.Close())
	require.Empty(t, told)
}

// The end of a stream is an event, too; Close emits none.
func TestStreamThatEndsIsToldOf(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan client.Disconnected, 2)
			tr, s := newFake(t)
			c, err := client.Connect(t.Context(), tr, sessionEra, ends(told))
			require.NoError(t, err)
			if !closed {
				require.NoError(t, s.conn.Close())
				synctest.Wait()
				require.Len(t, told, 1)
				require.ErrorContains(t, (<-told).Cause, "the connection was lost")
				_, err = c.CallTool(t.Context(), "echo", message)
				require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), err)
			}
			require.NoError(t, ignoreClosed(c.Close()))
			synctest.Wait()
			require.Empty(t, told)
		})
	}
}

// The end of the stream that HTTP+SSE has is none of the client's: it is opened again.
func TestOldStreamThatEndsIsNoEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan client.Disconnected, 2)
		tr, _ := oldSite(t)
		c, err := client.Connect(t.Context(), tr, sessionEra, ends(told))
		require.NoError(t, err)
		_ = c.Notify(t.Context(), "x/hang-up", nil) // the stream may end before the server has taken it
		synctest.Wait()
		require.Equal(t, client.StateRestarting, c.State())
		pass(time.Second)
		require.Equal(t, client.StateReady, c.State())
		require.NoError(t, c.Close())
		synctest.Wait()
		require.Empty(t, told)
	})
}

// A program that is not there will not be there at the next try.
func TestMissingProgramIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, argv := range []string{"mainstay-no-such-program", filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		_, err := client.DialCommand(t.Context(), []string{argv}, sessionEra)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.NotSent, false}, []any{e.Code, e.Delivery, e.Retryable}, err)
		require.ErrorContains(t, err, "the program cannot be started")
		require.ErrorContains(t, err, "check the command")
	}
}
