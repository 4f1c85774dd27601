//go:build race

package checks

// Raced reports whether the race detector runs.
const Raced = true
