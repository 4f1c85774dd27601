package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var kept [][]byte

func TestMeter(t *testing.T) {
	m := begin()
	for range 1000 {
		kept = append(kept[:0], make([]byte, 1000))
	}
	r := m.end().per(1000)
	require.InDelta(t, 1, r.Allocs, 0.2)
	require.InDelta(t, 1024, r.Bytes, 100)
	require.Positive(t, r.PerSecond)
}

func TestPercentiles(t *testing.T) {
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(100-i)*time.Microsecond)
	}
	p50, p99 := percentiles(times)
	require.InDelta(t, 50, p50, 1e-9)
	require.InDelta(t, 99, p99, 1e-9)
	p50, p99 = percentiles(nil)
	require.Zero(t, p50+p99)
}

// Times of a million calls must not make the heap larger.
func TestTimesOffHeap(t *testing.T) {
	m := begin()
	times, free, err := timesOffHeap(1 << 20)
	require.NoError(t, err)
	times[1<<20-1] = time.Second
	require.Less(t, m.end().bytes, uint64(1<<20))
	free()
}

func TestName(t *testing.T) {
	require.Equal(t, "W2 stdio 2025 64 in flight", Cell{Workload: "W2", Transport: Stdio, N: 64}.Name())
	require.Equal(t, "W3 json 2026 16 MiB", Cell{Workload: "W3", Transport: JSON, N: 16 << 20, Modern: true}.Name())
	require.Equal(t, "W1 stdio 2025, raw args", Cell{Workload: "W1", Transport: Stdio, Variant: RawArgs}.Name())
}
