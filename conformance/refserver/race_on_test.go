//go:build race

package refserver

// largeBody is a text that is within the limit of a body, smaller than without
// the race detector: each of its bytes is looked at many times.
const largeBody = 1 << 20

// fewer is how many rounds of the same do for n: each takes ten times as long.
func fewer(n int) int { return max(1, n/4) }
