//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// unblocked opens a pipe or a socket a second time, as a file whose reads and writes block no
// thread: to hand a message to another thread takes longer than the message. Both share the flag
// for it, also with other processes: restore resets it. own is nil for other files.
func unblocked(f *os.File) (own *os.File, restore func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil, nil
	}
	if errs, err := os.Stderr.Stat(); err != nil || os.SameFile(info, errs) {
		return nil, nil // the flag would be that of stderr, where others write too
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, nil
	}
	blocks := f.SetDeadline(time.Time{}) != nil
	restore = func() {
		if blocks {
			_ = conn.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), false) }) // as it was
		}
	}
	_ = conn.Control(func(fd uintptr) { // if it fails, own is nil
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		second, err := syscall.Dup(int(fd))
		if err != nil {
			return
		}
		syscall.CloseOnExec(second)
		_ = syscall.SetNonblock(second, true) // if it fails, own has no deadlines
		own = os.NewFile(uintptr(second), f.Name())
	})
	if own != nil && own.SetDeadline(time.Time{}) != nil {
		_ = own.Close() // f is still open
		restore()
		own = nil
	}
	return own, restore
}
