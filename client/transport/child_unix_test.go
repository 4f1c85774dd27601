//go:build unix

package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func ignoreTerm() {
	signal.Ignore(syscall.SIGTERM)
	servePeer()
	hold()
}

// gone reports whether a process has exited. An orphaned zombie counts as exited.
func gone(pid int) bool {
	if reaped(pid) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// reaped reports whether nothing is left of a process, not even a zombie.
func reaped(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
