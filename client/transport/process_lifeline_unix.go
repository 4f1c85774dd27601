//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// lifeline ends a program and its children if this process ends without Close, even if it is
// killed. Most programs exit when their stdin is closed; the lifeline is for the others. It is a
// shell in the program's process group that reads from a pipe, whose other end only this process
// holds. At the end of the pipe it waits one second, sends TERM, and then kills the group. The
// kernel's parent death signal would reach only the program, and leave it no time.
type lifeline struct {
	watcher *exec.Cmd // nil without a shell
	pipe    *os.File
}

// watchOver is the script of the shell. It must survive the signals that it sends and those of
// Close.
const watchOver = `trap "" TERM HUP INT; read -r _; sleep 1; kill -TERM 0; sleep 1; kill -KILL 0`

// shell returns the path of sh, "" if there is none.
func shell() string {
	path, err := exec.LookPath("sh")
	if err != nil {
		return ""
	}
	return path
}

// newLifeline creates the lifeline of a program. Call it before the program is waited for, so
// that the process group is still the program's.
func newLifeline(program *exec.Cmd, shell string) *lifeline {
	l := &lifeline{}
	if shell == "" {
		return l
	}
	read, write, err := os.Pipe()
	if err != nil {
		return l
	}
	watcher := exec.Command(shell, "-c", watchOver) //nolint:noctx // ends with the program
	watcher.Env = []string{"PATH=" + os.Getenv("PATH")}
	watcher.Stdin = read
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: program.Process.Pid}
	err = watcher.Start()
	_ = read.Close()
	if err != nil { // the program has already exited, or there are no more processes
		_ = write.Close()
		return l
	}
	l.watcher, l.pipe = watcher, write
	return l
}

// release ends the watcher, after the program and its group have ended.
func (l *lifeline) release() {
	if l.watcher == nil {
		return
	}
	_ = l.watcher.Process.Kill()
	_ = l.watcher.Wait() // always "killed"
	_ = l.pipe.Close()
}
