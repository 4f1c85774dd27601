//go:build !race

package faultmatrix

// raced says that the race detector runs.
const raced = false
