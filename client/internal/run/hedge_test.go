package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A second request is due when a call takes longer than nearly all before it.
func TestHedgeIsDue(t *testing.T) {
	t.Parallel()
	var h Hedging
	after, ok := h.Due("x", time.Second)
	require.True(t, ok)
	require.Equal(t, time.Second, after)
	for range hedgeSamples - 1 {
		h.Took("x", 10*time.Millisecond)
	}
	_, ok = h.Due("x", 0)
	require.False(t, ok, "too few")
	h.Took("x", 10*time.Millisecond)
	after, ok = h.Due("x", 0)
	require.True(t, ok)
	require.InDelta(t, 10*time.Millisecond, after, float64(5*time.Millisecond))
	_, ok = h.Due("y", 0)
	require.False(t, ok)
}

// No more than a share of the calls has a second request, but one always may.
func TestHedgesAreShared(t *testing.T) {
	t.Parallel()
	var h Hedging
	require.True(t, h.Take(0.1), "the first")
	require.False(t, h.Take(0.1))
	h.Return()
	require.True(t, h.Take(0.1))
	for range 20 {
		h.Started()
	}
	require.True(t, h.Take(0.1))
	require.False(t, h.Take(0.1))
}
