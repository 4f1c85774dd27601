// Package testmain has the main function of the tests of every package: no goroutine outlives
// them, their output is limited, and with the race detector they exit at once.
package testmain

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Begin must run before anything else. [Run] calls it. A main function with code before [Check]
// calls Begin first.
func Begin() {
	if len(os.Args) == 2 && os.Args[1] == filterArgument {
		os.Exit(filter(os.Stdin, os.Stdout)) //nolint:forbidigo // this branch is the main of the filter
	}
	endAtOnce()
}

// Run runs the tests and exits. It fails if they leave a goroutine behind.
func Run(m goleak.TestingM) {
	Begin()
	os.Exit(Check(m)) //nolint:forbidigo // this is the main of tests
}

// Check runs the tests and returns the exit code: 1 if they leave a goroutine behind.
func Check(m goleak.TestingM) int {
	unbound := boundOutput()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests: "+head(err.Error(), maxLines))
			code = 1
		}
	}
	unbound() // not deferred: it would run before the output of a panic
	return code
}

// maxLines limits the stacks in the output: hundreds of goroutines usually leaked the same way.
const maxLines = 120

// head returns the first lines of a text, and the number of omitted ones.
func head(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if len(all) <= lines {
		return text
	}
	return fmt.Sprintf("%s… and %d lines more", strings.Join(all[:lines], ""), len(all)-lines)
}

// Fewer returns the number of rounds for a test: n, or under the race detector, where each round
// is slow, n divided by factor, at least 1.
func Fewer(n, factor int) int {
	if Race {
		return max(1, n/factor)
	}
	return n
}

// SkipLarge skips a large test without concurrency under the race detector, where it would take
// ten times as long.
func SkipLarge(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("race: a large test without concurrency")
	}
}
