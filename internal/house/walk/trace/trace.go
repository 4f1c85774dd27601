// Package trace records which functions one goroutine enters. Calls of [Enter] are
// not in the source: the command house adds one to each function of a copy of it.
package trace

import (
	"bytes"
	"runtime"
	"slices"
	"sync/atomic"
)

var now atomic.Pointer[walk]

type walk struct {
	goroutine string
	places    []string
}

// Start begins to record what the calling goroutine enters.
func Start() { now.Store(&walk{goroutine: goroutine()}) }

// Stop ends the record and returns the files that were entered, in order.
func Stop() []string { return now.Swap(nil).places }

// Enter records that the calling goroutine has entered a function of a file.
func Enter(file string) {
	if w := now.Load(); w != nil && goroutine() == w.goroutine {
		w.places = append(w.places, file)
	}
}

// goroutine names the calling goroutine: the first line of its stack begins with
// "goroutine 7 [".
func goroutine() string {
	var buf [64]byte
	head, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("["))
	return string(slices.Clone(head))
}
