package testmain

import (
	"runtime"
	"syscall"
	"time"
)

// threadUsage is RUSAGE_THREAD of getrusage(2): the time of the calling thread alone.
const threadUsage = 1

// Busy runs f and returns the processor time that f used on its own thread. Unlike the
// time on the clock, it is the same on a busy machine, so that a test may bound it. f must
// do its work on the calling goroutine.
func Busy(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used()
	f()
	return used() - before
}

func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(threadUsage, &u) // fails only for other arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
