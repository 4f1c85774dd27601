//go:build unix

package trial

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the leader of a process group, so that what it
// starts ends with it: `go run`, `npx` and shells are only wrappers.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// The error says that the group is gone already.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
