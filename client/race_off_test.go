//go:build !race

package client_test

// raceEnabled says that allocation counts mean nothing.
const raceEnabled = false

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }
