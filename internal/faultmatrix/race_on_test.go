//go:build race

package faultmatrix

import "github.com/mainstay-mcp/mainstay/conformance/faults"

// raced says that the race detector runs, which makes a trial twenty times as
// slow: then each fault is met over everything that makes it, by one kind of
// call and in one form. What becomes of all the others is seen without it.
const raced = true

// floods are smaller then: still more than anything holds.
var floods = map[string]faults.Rule{"C5": {Size: 20 << 20}, "D16": {Repeat: 10_000}, "F7": {Repeat: 2_000}}
