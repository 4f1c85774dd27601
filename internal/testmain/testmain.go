// Package testmain has the main function of the tests of every package: no goroutine outlives
// them, their output is limited, and with the race detector they exit at once.
package testmain

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
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
	runAtOnce()
	collectSeldom()
	unbound := boundOutput()
	code := m.Run()
	finish()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests: "+head(err.Error(), maxLines))
			code = 1
		}
	}
	unbound() // not deferred: it would run before the output of a panic
	return code
}

var (
	atEndMu sync.Mutex
	atEnd   []func()
)

// AtEnd has f run after the tests of this program. What tests share ends there: a program that
// is still running keeps the output open, for which the end of the tests waits.
func AtEnd(f func()) {
	atEndMu.Lock()
	defer atEndMu.Unlock()
	atEnd = append(atEnd, f)
}

// finish runs what AtEnd was given.
func finish() {
	atEndMu.Lock()
	all := atEnd
	atEndMu.Unlock()
	for _, f := range all {
		f()
	}
}

// atOnce is the number of parallel tests. Most wait, for processes, pipes and the clock: with one
// for each processor, a machine with two would do nothing for a third of the time.
const atOnce = 8

// runAtOnce sets the number of parallel tests, unless the command line does. For fuzzing, it is the
// number of processes.
func runAtOnce() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" || f.Name == "test.fuzz" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0)))) // a number is valid
	}
}

// Limits of the garbage that a test program keeps. It lives for seconds, and a tenth of its
// processor time would go into collections.
const (
	garbagePercent = 300       // of what is in use
	garbageFrom    = 512 << 20 // bytes in all from which on it is collected as often as needed
)

// collectSeldom has garbage collected seldom, unless the environment says how often.
func collectSeldom() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(garbageFrom)
	}
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
