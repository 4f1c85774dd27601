//go:build !race

package pool

// raced says that the race detector runs.
const raced = false
