//go:build !unix

package worker

import (
	"os/exec"
	"runtime/debug"
)

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends the worker; an error says that it is gone already.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// confine has only the collector's soft limit here; the deadline remains.
func confine(bytes int64) error {
	if bytes > 0 {
		debug.SetMemoryLimit(bytes)
	}
	return nil
}
