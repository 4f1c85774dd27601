//go:build race

package transport_test

// fewer is how many rounds of the same do for n: each takes ten times as long.
func fewer(n int) int { return max(1, n/5) }

// large is whether what is read in megabytes is read in every way.
const large = false
