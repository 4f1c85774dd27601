//go:build unix

package testmain

import (
	"os"
	"syscall"
)

// endAtOnce restarts a program with the race detector, with the option not to sleep for a second
// before it exits. Over all packages that second is most of a minute, and goleak has already
// checked for goroutines. The detector reads its options when a program starts, so it is too late
// to set them here. Programs that tests start inherit them. If the restart fails, the tests are
// only slower.
func endAtOnce() {
	const options = "GORACE"
	if _, set := os.LookupEnv(options); set || !Race {
		return
	}
	program, err := os.Executable()
	if err == nil && os.Setenv(options, "atexit_sleep_ms=0") == nil {
		_ = syscall.Exec(program, os.Args, os.Environ()) // returns only on failure
	}
}
