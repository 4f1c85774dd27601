package resilience_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Compared with the true quantiles: never too short, at most 25 % too long.
func TestLatencyQuantiles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	for _, spread := range []float64{1e3, 1e6, 1e9, 1e11} {
		var l resilience.Latency
		var all []time.Duration
		for range 1000 {
			d := time.Microsecond + time.Duration(rng.ExpFloat64()*spread)
			all = append(all, d)
			l.Observe("x", d)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
			exact := all[max(0, int(math.Ceil(q*1000))-1)]
			got, calls := l.Quantile("x", q)
			require.Equal(t, 1000, calls)
			require.GreaterOrEqual(t, got, exact, "%v of %v", q, spread)
			require.LessOrEqual(t, float64(got), float64(exact)*1.25+float64(time.Microsecond), "%v of %v", q, spread)
		}
	}
}

func TestLatencyExtremes(t *testing.T) {
	t.Parallel()
	var l resilience.Latency
	d, calls := l.Quantile("nobody", 0.5)
	require.Zero(t, d)
	require.Zero(t, calls)
	for _, took := range []time.Duration{math.MinInt64, -1, 0, math.MaxInt64} {
		l.Observe("x", took)
	}
	d, calls = l.Quantile("x", 0.5)
	require.Equal(t, 4, calls)
	require.Equal(t, time.Microsecond, d)
	d, _ = l.Quantile("x", 2)
	require.Positive(t, d)
	d, _ = l.Quantile("x", math.NaN())
	require.GreaterOrEqual(t, d, time.Duration(0))
}

// A tool that becomes slow is soon reported as slow.
func TestLatencyForgets(t *testing.T) {
	t.Parallel()
	var l resilience.Latency
	for range 100_000 {
		l.Observe("x", time.Millisecond)
	}
	_, calls := l.Quantile("x", 0.5)
	require.Less(t, calls, 1024)
	for range 1100 {
		l.Observe("x", time.Second)
	}
	d, _ := l.Quantile("x", 0.5)
	require.GreaterOrEqual(t, d, time.Second)
}

// The peer chooses the names, so their number is limited.
func TestLatencyIsBounded(t *testing.T) {
	t.Parallel()
	var l resilience.Latency
	known := func() (n int) {
		for i := range 3000 {
			if _, calls := l.Quantile(fmt.Sprint(i), 0.5); calls > 0 {
				n++
			}
		}
		return n
	}
	for i := range 1024 {
		l.Observe(fmt.Sprint(i), time.Second)
	}
	require.Equal(t, 1024, known())
	for i := 1024; i < 3000; i++ {
		l.Observe(fmt.Sprint(i), time.Second)
	}
	require.LessOrEqual(t, known(), 1024)
	_, calls := l.Quantile("2999", 0.5)
	require.Equal(t, 1, calls)
}

func TestLatencyConcurrently(t *testing.T) {
	t.Parallel()
	var l resilience.Latency
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 20_000 {
				l.Observe(fmt.Sprint(i%10), time.Millisecond)
				if i%100 == 0 {
					l.Quantile("1", 0.95)
				}
			}
		})
	}
	group.Wait()
	for i := range 10 {
		l.Observe(fmt.Sprint(i), time.Millisecond)
		d, calls := l.Quantile(fmt.Sprint(i), 0.5)
		require.GreaterOrEqual(t, d, time.Millisecond)
		require.Less(t, d, 2*time.Millisecond)
		require.Greater(t, calls, 100)
		require.Less(t, calls, 1024)
	}
}
