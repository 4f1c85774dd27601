//go:build !unix

package transport

import (
	"os"
	"os/exec"
)

// This system has no process groups: only the child itself is ended.
func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill fails only when the process has ended already.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func signalName(*os.ProcessState) string { return "" }
