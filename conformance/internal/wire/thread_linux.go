package wire

import (
	"syscall"
	"time"
)

// threadUsage is RUSAGE_THREAD of getrusage(2).
const threadUsage = 1

// threadTime returns the processor time that this thread has used.
func threadTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(threadUsage, &u) // fails only for other arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
