package store

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	lockfileFailImmediately = 1
	lockfileExclusiveLock   = 2

	// errLocked is ERROR_LOCK_VIOLATION.
	errLocked syscall.Errno = 33
)

func canLock() error { return lockFileEx.Find() }

// lockFile returns false if another process has the lock.
func lockFile(file *os.File) (bool, error) {
	var at syscall.Overlapped
	ok, _, err := lockFileEx.Call(file.Fd(), lockfileExclusiveLock|lockfileFailImmediately, 0, 1, 0,
		uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errLocked), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	}
	return false, os.NewSyscallError("LockFileEx", err)
}
