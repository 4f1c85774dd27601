//go:build unix && !linux

package transport

import "os/exec"

// dieWithThread is for Linux.
func dieWithThread(*exec.Cmd) bool { return false }
