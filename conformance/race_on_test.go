//go:build race

package conformance_test

// raced says that the race detector runs.
const raced = true
