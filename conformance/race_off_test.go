//go:build !race

package conformance

// Raced says that the race detector runs, for the tests in both packages.
const Raced = false
