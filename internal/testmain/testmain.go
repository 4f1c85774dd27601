// Package testmain is the main of the tests of every package: no goroutine
// outlives them, and under the race detector they end at once.
package testmain

import "go.uber.org/goleak"

// Run runs the tests and ends the program. It fails when they leave a goroutine
// behind. What has a main of its own around the tests calls
// [EndAtOnce] first.
func Run(m goleak.TestingM) {
	EndAtOnce()
	goleak.VerifyTestMain(m)
}
