//go:build !race

package office_test

// raced says that the race detector runs.
const raced = false
