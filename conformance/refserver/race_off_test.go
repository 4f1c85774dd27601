//go:build !race

package refserver

// largeBody is a text that is within the limit of a body.
const largeBody = 5 << 20

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }
