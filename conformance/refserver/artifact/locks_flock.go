//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package artifact

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks f for this process if no other has it. The kernel lets go of
// the lock when the process ends, however it ends.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// unlock lets go of the lock and closes f. Closing alone is not enough: a program that
// another goroutine is starting right now has a copy of f until it runs.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing unlocks, too, if later
	_ = f.Close()
}
