//go:build !unix

package trial

import "os/exec"

// ownGroup does nothing where there are no process groups: children of the
// program are its own business there.
func ownGroup(*exec.Cmd) {}

// The error says that the group is gone already.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
