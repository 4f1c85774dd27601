package worker

import (
	"fmt"
	"os"
	"syscall"
)

// limitData lets the process map so many bytes more than it has.
func limitData(bytes int64) error {
	most := uint64(bytes) + mapped()
	limit := syscall.Rlimit{Cur: most, Max: most}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &limit)
}

// mapped is how much RLIMIT_DATA counts already: a few MiB, but terabytes of
// nothing in a binary with the race detector. Zero when it cannot be known.
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
