package services

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWork ends what counts work: it waits, not forever, and nothing begins
// afterwards.
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		require.True(t, w.begin())
		require.True(t, w.begin())
		w.done()
		begin := time.Now()
		require.ErrorContains(t, w.end(), "still runs", "one ignores that it was cancelled")
		require.Equal(t, endTimeout, time.Since(begin))
		require.False(t, w.begin())
		time.AfterFunc(300*time.Millisecond, w.done)
		require.NoError(t, w.end())
		require.Equal(t, endTimeout+300*time.Millisecond, time.Since(begin))
		require.NoError(t, w.end(), "ending twice is harmless")
		require.Equal(t, endTimeout+300*time.Millisecond, time.Since(begin))
	})
}
