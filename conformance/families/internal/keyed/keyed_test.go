package keyed

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The lock is of one key: another is not held up, and who does not want
// to wait any longer need not.
func TestLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		free, err := l.Lock(t.Context(), "EPIC-006")
		require.NoError(t, err)
		other, err := l.Lock(t.Context(), "EPIC-007")
		require.NoError(t, err)
		other()
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { _, err := l.Lock(ctx, "EPIC-006"); gone <- err }()
		second := make(chan func())
		go func() {
			f, err := l.Lock(t.Context(), "EPIC-006")
			if err != nil {
				t.Error(err)
			}
			second <- f
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)
		select {
		case <-second:
			t.Fatal("taken twice")
		default:
		}
		free()
		(<-second)()
		require.Empty(t, l.held)
	})
}
