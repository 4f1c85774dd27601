//go:build race

package suitetest

// Raced reports whether the race detector runs.
const Raced = true
