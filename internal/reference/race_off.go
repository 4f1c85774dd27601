//go:build !race

package reference

// raced reports whether the race detector runs.
const raced = false
