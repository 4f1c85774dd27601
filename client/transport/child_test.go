package transport_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mainstay-mcp/mainstay/client/transport/transporttest"
)

// programVariable names the program that this binary is when it is started as
// a child.
const programVariable = "MAINSTAY_TEST_PROGRAM"

// program is the environment that makes this binary a program. A program that
// is built with the race detector would sleep for a second before it exits.
func program(name string) []string {
	return []string{programVariable + "=" + name, "GORACE=atexit_sleep_ms=0"}
}

// programs are what the tests of [transport.Command] start. None sleeps for
// ever: what a failed test leaves behind ends by itself.
var programs = map[string]func(){
	"peer": servePeer,
}

func runProgram(name string) {
	run := programs[name]
	if run == nil {
		fmt.Fprintln(os.Stderr, "no such program")
		os.Exit(99)
	}
	run()
}

func servePeer() { (&transporttest.Peer{}).ServeLines(context.Background(), os.Stdin, os.Stdout) }
