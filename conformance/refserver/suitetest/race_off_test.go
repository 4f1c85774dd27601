//go:build !race

package suitetest

// raced reports whether the race detector runs.
const raced = false
