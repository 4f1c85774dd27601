// Package testmain is the main of the tests of every package: no goroutine
// outlives them, and under the race detector they end at once.
package testmain

import (
	"fmt"
	"os"
	"strings"

	"go.uber.org/goleak"
)

// Run runs the tests and ends the program. It fails when they leave a goroutine
// behind. What has a main of its own around the tests calls
// [EndAtOnce] first.
func Run(m goleak.TestingM) {
	EndAtOnce()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests: "+head(err.Error(), maxLines))
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // this is the main of tests
}

// maxLines is how much of the stacks is shown: hundreds of goroutines that leaked
// the same way say no more than the first.
const maxLines = 120

// head returns the first lines of a text, and says how many are left out.
func head(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if len(all) <= lines {
		return text
	}
	return fmt.Sprintf("%s… and %d lines more", strings.Join(all[:lines], ""), len(all)-lines)
}
