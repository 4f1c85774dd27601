//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the child into a process group of its own, so that it can be
// ended with its children, and so that a terminal's Ctrl-C reaches only us.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate and kill signal the whole group. The only error is that nobody is
// left to signal.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalName names the signal that ended the process, "" when it exited.
func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
