//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives the child a process group of its own, so that it can be ended with its children,
// and Ctrl-C in a terminal does not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate and kill signal the whole group. The only error is that the group is empty.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalName returns the signal that ended the process, "" if it exited.
func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
