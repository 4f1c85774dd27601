//go:build linux || darwin || freebsd || netbsd || openbsd

package testmain

import (
	"errors"
	"os"
	"syscall"
)

// redirect makes both standard streams copies of f, and returns a function that restores them.
func redirect(f *os.File) (func(), error) {
	// Programs that tests start must not inherit the old streams: "go test" waits for all
	// processes that have them.
	syscall.ForkLock.RLock()
	stdout, err := syscall.Dup(syscall.Stdout)
	stderr, err2 := syscall.Dup(syscall.Stderr)
	if err = errors.Join(err, err2); err == nil {
		syscall.CloseOnExec(stdout)
		syscall.CloseOnExec(stderr)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	undo := func() {
		_ = duplicate(stdout, syscall.Stdout) // these are our own descriptors, so it cannot fail
		_ = duplicate(stderr, syscall.Stderr)
	}
	if err := errors.Join(duplicate(int(f.Fd()), syscall.Stdout), duplicate(int(f.Fd()), syscall.Stderr)); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}
