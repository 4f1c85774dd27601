//go:build !unix

package wire

import "os/exec"

// CanTerminate: there is no signal that a program could heed.
const CanTerminate = false

// ownGroup does nothing where there are no process groups: children of the
// program are its own business there.
func ownGroup(*exec.Cmd) {}

// The errors say that the process is gone already.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
