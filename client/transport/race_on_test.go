//go:build race

package transport_test

import "testing"

// fewer is how many rounds of the same do for n: each takes ten times as long.
func fewer(n int) int { return max(1, n/5) }

// skipLarge skips a test of much of the same with nothing else going on: under the
// race detector it takes ten times as long, and nothing in it is at once.
func skipLarge(t testing.TB) {
	t.Helper()
	t.Skip("race: much of the same, and nothing at once")
}
