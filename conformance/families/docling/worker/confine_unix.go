//go:build unix

package worker

import (
	"os/exec"
	"runtime/debug"
	"syscall"
)

// ownGroup makes the worker the leader of a process group, so that nothing it
// might start outlives it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the worker; an error says that it is gone already.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// confine bounds the memory of this process, once. RLIMIT_DATA counts private
// writable pages, which is Go's heap but not the address space it reserves
// (RLIMIT_AS would); over it the runtime ends the process. The collector is
// told of less, so that it works hard before that happens.
func confine(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	debug.SetMemoryLimit(bytes / 4 * 3)
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // a document is not left behind as a core dump
	return limitData(bytes)
}
