package wire

import (
	"runtime"
	"time"
)

// Work of a measurement: it is longer than a thread may run before others get their turn.
const (
	measured   = 40 * time.Millisecond
	measuredIn = 2 * time.Second
)

// Starvation returns how many times longer a little work takes on this machine than the processor
// time it needs: 1 on a quiet one. A server on the same machine waits as long for its turn.
func Starvation() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun, before := time.Now(), threadTime()
	for sum := 0; ; sum++ {
		for i := range 100_000 {
			sum ^= i
		}
		used, took := threadTime()-before, time.Since(begun)
		if used >= measured || took >= measuredIn {
			return float64(took) / float64(max(used, time.Millisecond))
		}
	}
}
