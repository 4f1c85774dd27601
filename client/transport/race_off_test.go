//go:build !race

package transport_test

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }

// large is whether what is read in megabytes is read in every way.
const large = true
