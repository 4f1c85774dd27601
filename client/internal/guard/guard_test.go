package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// A throttle is never shortened, and ends automatically.
func TestThrottle(t *testing.T) {
	t.Parallel()
	var none *guard.Throttle
	require.Zero(t, none.Left())
	require.Nil(t, none.Refusal())
	synctest.Test(t, func(t *testing.T) {
		var h guard.Throttle
		require.Zero(t, h.Left())
		require.True(t, h.Extend(time.Minute))
		require.False(t, h.Extend(time.Second))
		require.False(t, h.Extend(time.Minute))
		require.Equal(t, time.Minute, h.Left())
		e := h.Refusal()
		require.Equal(t, []any{mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, time.Minute}, []any{e.Code, e.Kind, e.Delivery, e.RetryAfter})
		time.Sleep(59 * time.Second)
		require.True(t, h.Extend(2*time.Second))
		time.Sleep(2*time.Second - 1)
		require.EqualValues(t, 1, h.Left())
		time.Sleep(1)
		require.Zero(t, h.Left())
		require.Nil(t, h.Refusal())
	})
}
