//go:build !race

package testmain

// Race reports whether the race detector runs.
const Race = false
