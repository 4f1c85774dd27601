// Package testmain is the main of the tests of every package: no goroutine
// outlives them, what they print is bounded, and under the race detector they end
// at once.
package testmain

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Begin does what has to be done before anything else. [Run] calls it. A main that
// does something of its own before [Check] calls it first.
func Begin() {
	if len(os.Args) == 2 && os.Args[1] == filterArgument {
		os.Exit(filter(os.Stdin, os.Stdout)) //nolint:forbidigo // this branch is the main of the filter
	}
	endAtOnce()
}

// Run runs the tests and ends the program. It fails when they leave a goroutine
// behind.
func Run(m goleak.TestingM) {
	Begin()
	os.Exit(Check(m)) //nolint:forbidigo // this is the main of tests
}

// Check runs the tests and returns the exit code: 1 also when they leave a
// goroutine behind.
func Check(m goleak.TestingM) int {
	unbound := boundOutput()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests: "+head(err.Error(), maxLines))
			code = 1
		}
	}
	unbound() // not deferred: it would come before what a panic prints
	return code
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

// Fewer returns how many rounds of the same a test makes: n, and under the race
// detector, where each takes long, n divided by factor, at least 1.
func Fewer(n, factor int) int {
	if Race {
		return max(1, n/factor)
	}
	return n
}

// SkipLarge skips a test of much of the same with nothing else going on under the race
// detector: there it takes ten times as long, and nothing in it is at once.
func SkipLarge(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("race: much of the same, and nothing at once")
	}
}
