//go:build !unix

package conformance

import "os/exec"

// canTerminate: there is no signal that a program could heed.
const canTerminate = false

// ownGroup does nothing where there are no process groups: children of the
// program are its own business there.
func ownGroup(*exec.Cmd) {}

// The errors say that the process is gone already.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
