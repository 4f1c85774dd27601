//go:build race

package conformance

// Raced reports whether the race detector runs.
const Raced = true
