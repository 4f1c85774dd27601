//go:build !unix

package faults

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// crash ends the process; there are no signals.
func crash(form string) {
	if form == "exit0" {
		os.Exit(0) //nolint:forbidigo // the fault is that the process ends
	}
	os.Exit(1) //nolint:forbidigo // the fault is that the process ends
}

func stopSelf() error { return errors.New("a process cannot stop itself here") }

// ignoreEnds does nothing: no signal asks a process to exit here.
func ignoreEnds() {}

// grandchild starts a process that holds the pipes and outlives this one.
func grandchild(d time.Duration) error {
	cmd := exec.Command("ping", "-n", strconv.Itoa(int(d/time.Second)+1), "127.0.0.1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Start()
}
