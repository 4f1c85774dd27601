package life_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.True(t, life.Sleep(t.Context(), time.Second))
		require.Equal(t, time.Second, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, life.Sleep(ctx, time.Minute))
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		began := time.Now()
		require.False(t, life.Wait(done, time.Minute, nil))
		require.Equal(t, time.Minute, time.Since(began))
		go func() {
			time.Sleep(time.Second)
			close(done)
		}()
		require.True(t, life.Wait(done, time.Minute, nil))
		require.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}
