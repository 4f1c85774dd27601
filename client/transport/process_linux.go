package transport

import (
	"os/exec"
	"syscall"
)

// dieWithThread makes the kernel kill the program when the thread that starts it ends, at the
// latest with this process. It reports whether the kernel supports that: then the thread must
// live as long as the program.
func dieWithThread(cmd *exec.Cmd) bool {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return true
}
