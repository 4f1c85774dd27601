package core_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// All attempts of a call share its time.
func TestSpan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := core.Span{Began: time.Now(), Wait: jsonrpc.Wait{Idle: time.Second, Max: time.Minute}}
		time.Sleep(20 * time.Second)
		left, bounded := s.Left()
		require.True(t, bounded)
		require.Equal(t, 40*time.Second, left)
		require.Equal(t, jsonrpc.Wait{Idle: time.Second, Max: 40 * time.Second}, s.Patience())
		require.Equal(t, 40*time.Second, s.Remaining(ctx))
		sooner, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		require.Equal(t, time.Second, s.Remaining(sooner))
		bound, stop := s.Bound(ctx)
		defer stop()
		end, ok := bound.Deadline()
		require.True(t, ok)
		require.Equal(t, 40*time.Second, time.Until(end))
		require.False(t, s.Over())
		time.Sleep(40 * time.Second)
		require.True(t, s.Over())
		require.Equal(t, time.Duration(1), s.Patience().Max, "0 is no bound")

		for _, s := range []core.Span{{Wait: jsonrpc.Wait{Max: time.Minute}}, {Began: time.Now()}} {
			_, bounded = s.Left()
			require.False(t, bounded)
			require.False(t, s.Over())
			require.Equal(t, s.Wait, s.Patience())
			require.Equal(t, time.Duration(math.MaxInt64), s.Remaining(ctx))
			same, stop := s.Bound(ctx)
			stop()
			require.Equal(t, ctx, same)
		}
	})
}
