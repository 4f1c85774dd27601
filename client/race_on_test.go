//go:build race

package client_test

// raceEnabled says that allocation counts mean nothing.
const raceEnabled = true

// fewer is how many rounds of the same do for n: each takes ten times as long.
func fewer(n int) int { return max(1, n/10) }
