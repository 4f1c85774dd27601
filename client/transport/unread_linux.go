package transport

import (
	"os"
	"syscall"
	"unsafe"
)

// unread returns the number of unread bytes in a pipe. Linux reports it at both ends, even if
// nothing reads any more.
func unread(pipe *os.File) (waiting int64, known bool) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, false
	}
	var n int32
	err = raw.Control(func(fd uintptr) {
		_, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
		known = e == 0
	})
	return int64(n), known && err == nil
}
