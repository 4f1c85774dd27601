//go:build unix

package wire

import (
	"os/exec"
	"syscall"
)

// CanTerminate reports whether a program can be told to end.
const CanTerminate = true

// ownGroup makes the program the leader of a process group, so that what it
// starts ends with it: `go run`, `npx` and shells are only wrappers.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The errors say that the group is gone already.
func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
