package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A server that dies while a child of it holds stdout: the call in flight
// fails, and says how the server ended.
func TestHostileOrphan(t *testing.T) {
	t.Parallel()
	c, err := dialProgram(t, "orphan")
	require.NoError(t, err)
	began := time.Now()
	_, err = c.CallTool(t.Context(), "echo", message)
	require.Less(t, time.Since(began), 5*time.Second)
	e := wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), []string{"stopped before it answered", "status 1"}}.in(t, err)
	require.Equal(t, 1, e.Process.Exit)
	require.True(t, e.Retryable)
	_, err = c.CallTool(t.Context(), "echo", message)
	wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), []string{"status 1"}}.check(t, err) // of the next one
}

// Connecting to a silent program ends with its context, soon after it even if the
// program ignores the request to exit.
func TestHostileSilentProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a process")
	}
	began := time.Now()
	for limit := 300 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := client.Connect(ctx, &transport.Command{
			Argv: programArgv("silent"), Env: []string{"GORACE=atexit_sleep_ms=0"},
			StopGrace: 50 * time.Millisecond, KillGrace: 50 * time.Millisecond,
		}, sessionEra)
		cancel()
		if mcperrors.DeliveryOf(err) == mcperrors.NotSent && limit < 10*time.Second {
			continue // a busy machine has not started it by then
		}
		e := wantError{mcperrors.CodeTimeout, mcperrors.KindTimeout, one(mcperrors.Unknown), []string{"no answer"}}.in(t, err)
		require.ErrorIs(t, e, context.DeadlineExceeded)
		break
	}
	require.Less(t, time.Since(began), 40*time.Second, "the program would live for a minute")
}
