//go:build unix

package transport

import (
	"os"
	"os/exec"
	"syscall"
)

// lifeline ends a program and its children when this process ends without
// Close, killed or not. Most programs end when their stdin does; this is for the
// others. It is a shell in the program's process group that reads from a pipe
// whose other end only this process holds: at the end of the pipe it gives the
// program a second, then asks with TERM, then kills the group. The kernel's
// parent death signal would reach the program alone, and leave it no time.
type lifeline struct {
	watcher *exec.Cmd // nil without a shell
	pipe    *os.File
}

// watchOver is what the shell does. It must not end by the signals that it sends,
// nor by those of Close.
const watchOver = `trap "" TERM HUP INT; read -r _; sleep 1; kill -TERM 0; sleep 1; kill -KILL 0`

// shell is the program of the lifeline, "" where there is none.
func shell() string {
	path, err := exec.LookPath("sh")
	if err != nil {
		return ""
	}
	return path
}

// newLifeline ties a program to this process. It is called before the program is
// waited for, so that the process group is still the program's.
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
	if err != nil { // the program has ended already, or no more processes can be had
		_ = write.Close()
		return l
	}
	l.watcher, l.pipe = watcher, write
	return l
}

// release ends the watcher. The program has ended, and its group with it.
func (l *lifeline) release() {
	if l.watcher == nil {
		return
	}
	_ = l.watcher.Process.Kill()
	_ = l.watcher.Wait() // "killed"
	_ = l.pipe.Close()
}
