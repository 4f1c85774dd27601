//go:build !unix && !windows

package transport

import (
	"os"
	"os/exec"
)

// This system has no process groups: only the child itself is ended, and it survives if this
// process is killed.
func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill fails only if the process has already exited.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func signalName(*os.ProcessState) string { return "" }

func shell() string { return "" }

func dieWithThread(*exec.Cmd) bool { return false }

type lifeline struct{}

func newLifeline(*exec.Cmd, string) *lifeline { return nil }

func (*lifeline) release() {}
