//go:build race

package pool

// raced says that the race detector runs: pure work takes ten times as long, and
// nothing in it is at once.
const raced = true
