package resilience_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

func TestRate(t *testing.T) {
	t.Parallel()
	r := resilience.NewRate(10, 3)
	for range 3 {
		wait, ok := r.Reserve(epoch, 0)
		require.True(t, ok)
		require.Zero(t, wait)
	}
	wait, ok := r.Reserve(epoch, 0)
	require.False(t, ok)
	require.Equal(t, 100*time.Millisecond, wait, "what it would have been")
	for _, want := range []time.Duration{100, 200, 300} {
		wait, ok = r.Reserve(epoch, time.Second)
		require.True(t, ok)
		require.Equal(t, want*time.Millisecond, wait)
	}
	r.Return()
	wait, _ = r.Reserve(epoch, time.Second)
	require.Equal(t, 300*time.Millisecond, wait, "the place given back")
	wait, ok = r.Reserve(epoch.Add(time.Hour), 0)
	require.True(t, ok)
	require.Zero(t, wait)
}

func TestRateExtremes(t *testing.T) {
	t.Parallel()
	seldom := resilience.NewRate(1e-300, 1e9)
	for range 1000 {
		_, ok := seldom.Reserve(epoch, 0)
		require.True(t, ok)
	}
	one := resilience.NewRate(1e-300, -1)
	_, ok := one.Reserve(epoch, 0)
	require.True(t, ok)
	wait, ok := one.Reserve(epoch, time.Second)
	require.False(t, ok)
	require.Equal(t, time.Hour, wait)
	free := resilience.NewRate(1e12, 1)
	for range 1000 {
		_, ok := free.Reserve(epoch, 0)
		require.True(t, ok)
	}
}

// In any order of calls: never more in a second than the rate and one burst.
func TestRateIsKept(t *testing.T) {
	t.Parallel()
	const perSecond, burst = 50, 5
	rng := rand.New(rand.NewPCG(8, 8))
	r := resilience.NewRate(perSecond, burst)
	now := epoch
	var sent []time.Time
	for range 20_000 {
		now = now.Add(time.Duration(rng.IntN(int(20 * time.Millisecond))))
		if wait, ok := r.Reserve(now, 500*time.Millisecond); ok {
			require.LessOrEqual(t, wait, 500*time.Millisecond)
			sent = append(sent, now.Add(wait))
		}
	}
	require.Greater(t, len(sent), 5000)
	for i := range sent {
		if i > 0 {
			require.False(t, sent[i].Before(sent[i-1]), "in the order of the calls")
		}
		if j := i + perSecond + burst; j < len(sent) {
			require.GreaterOrEqual(t, sent[j].Sub(sent[i]), time.Second)
		}
	}
}
