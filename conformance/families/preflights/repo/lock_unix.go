//go:build unix && !solaris && !aix

package repo

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the directory itself, so that no lock file is left in
// anybody's repository.
func tryLock(root string) (release func(), busy bool, err error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = f.Close() // it holds nothing
		return nil, errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR), &os.PathError{Op: "lock", Path: root, Err: err}
	}
	return func() {
		// Closing alone is not enough: a program that another goroutine is starting
		// right now has a copy of f until it runs.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		_ = f.Close()
	}, false, nil
}
