//go:build race

package clientsuite

// raced says that the race detector runs.
const raced = true
