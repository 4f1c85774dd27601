//go:build !race

package pdf

// raced says that the race detector runs.
const raced = false
