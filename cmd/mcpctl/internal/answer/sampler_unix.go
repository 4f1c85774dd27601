//go:build unix

package answer

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the end of the command the end of all programs that it starts.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
