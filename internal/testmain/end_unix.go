//go:build unix

package testmain

import (
	"os"
	"syscall"
)

// endAtOnce starts a program with the race detector once more, which it tells not to sleep
// for a second before it ends: over all packages that is most of a minute, in
// which goleak has seen already that nothing runs. The detector reads its options
// when a program starts, so that to set them here is too late. Programs that the
// tests start inherit them. Without it the tests are slow, not wrong.
func endAtOnce() {
	const options = "GORACE"
	if _, told := os.LookupEnv(options); told || !Race {
		return
	}
	program, err := os.Executable()
	if err == nil && os.Setenv(options, "atexit_sleep_ms=0") == nil {
		_ = syscall.Exec(program, os.Args, os.Environ()) // returns only when it fails
	}
}
