//go:build unix && !aix && !solaris && !illumos

package store

import (
	"errors"
	"os"
	"syscall"
)

func canLock() error { return nil }

// lockFile returns false if another process has the lock.
func lockFile(file *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}
