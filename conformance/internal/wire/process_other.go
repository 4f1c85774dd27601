//go:build !unix

package wire

import "os/exec"

// CanTerminate reports whether a program can be asked to exit: there is no signal for it.
const CanTerminate = false

// OwnGroup does nothing, because there are no process groups.
func OwnGroup(*exec.Cmd) {}

// The errors mean that the process has exited.
func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// KillGroup kills the program and its children.
func KillGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
