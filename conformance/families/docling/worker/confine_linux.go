package worker

import (
	"fmt"
	"os"
	"syscall"
)

// detected is more than any program maps, but for those with the race detector:
// its shadow counts too, and it may hang where it gets no more of it.
const detected = 1 << 40

// limitData lets the process map so many bytes more than it has.
func limitData(bytes int64) error {
	has := mapped()
	if has > detected {
		return nil
	}
	most := uint64(bytes) + has
	limit := syscall.Rlimit{Cur: most, Max: most}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
}

// mapped is how much RLIMIT_DATA counts already, zero when it cannot be known.
func mapped() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, resident, shared, code, lib, data uint64
	if _, err := fmt.Sscan(string(text), &total, &resident, &shared, &code, &lib, &data); err != nil {
		return 0
	}
	return data * uint64(os.Getpagesize())
}
