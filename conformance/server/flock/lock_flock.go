//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Supported reports whether the system has such locks.
const Supported = true

// TryLock locks f for this process. It reports false if another process has locked it.
// Where locks are not supported every file is free.
func TryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock and closes f. Closing alone is not enough: a program that
// another goroutine is starting right now has a copy of f until it runs.
func Unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing unlocks, too, if later
	_ = f.Close()
}
