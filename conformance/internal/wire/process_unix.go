//go:build unix

package wire

import (
	"os/exec"
	"syscall"
)

// CanTerminate reports whether a program can be asked to exit.
const CanTerminate = true

// OwnGroup makes the program the leader of a process group, so that its children end with
// it: `go run`, `npx` and shells are only wrappers.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The errors mean that the group has exited.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// KillGroup kills the program and its children.
func KillGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
