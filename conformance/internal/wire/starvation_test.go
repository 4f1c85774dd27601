package wire

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStarvation: with five busy threads for each processor, work takes longer than its
// processor time.
func TestStarvation(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody knows what a thread has used")
	}
	var stop atomic.Bool
	defer stop.Store(true)
	for range 5 * runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			for !stop.Load() {
			}
		}()
	}
	old := runtime.GOMAXPROCS(5*runtime.NumCPU() + 1)
	defer runtime.GOMAXPROCS(old)
	require.Greater(t, Starvation(), 1.5)
}
