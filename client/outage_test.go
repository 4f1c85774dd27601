package client_test

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
)

// AfterDone calls its function once the client is done, or at once if it is done
// already. A function that panics is logged and stops no other.
func TestAfterDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c, err := client.Connect(t.Context(), clienttest.NewServer(t).Transport(),
			client.WithRequiredCapabilities(), client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		var ran atomic.Int32
		c.AfterDone(func() { panic("a bug") })
		c.AfterDone(func() { ran.Add(1) })
		synctest.Wait()
		require.Zero(t, ran.Load())
		require.NoError(t, c.Close())
		synctest.Wait()
		require.Equal(t, int32(1), ran.Load())
		c.AfterDone(func() { ran.Add(1) })
		synctest.Wait()
		require.Equal(t, int32(2), ran.Load())
		require.Contains(t, log.String(), "a bug")
	})
}
