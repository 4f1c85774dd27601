package testmain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Time in which f waits is not counted, time in which it works is.
func TestBusy(t *testing.T) {
	t.Parallel()
	const pause = 50 * time.Millisecond
	require.Less(t, Busy(func() { <-time.After(pause) }), pause)
	sum := 0
	require.Positive(t, Busy(func() {
		for i := range 100_000_000 {
			sum += i
		}
	}))
	require.NotZero(t, sum)
}
