//go:build !race

package mcperrors_test

// raced says that the race detector runs.
const raced = false
