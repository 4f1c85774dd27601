//go:build unix

package faults

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// crash ends the process by the form of E12; the default is SIGKILL.
func crash(form string) {
	switch form {
	case "exit0":
		os.Exit(0) //nolint:forbidigo // the fault is that the process ends
	case "segv":
		// Go's runtime turns its own SIGSEGV into an exit; a shell does not.
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

func stopSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// ignoreEnds makes the process ignore signals that ask it to exit.
func ignoreEnds() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE) }

// grandchild starts a process that holds the pipes and outlives this one.
func grandchild(d time.Duration) error {
	cmd := exec.Command("sleep", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Start()
}
