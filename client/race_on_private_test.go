//go:build race

package client

import "testing"

// skipLarge skips a test of much of the same with nothing else going on: under the
// race detector it takes ten times as long, and nothing in it is at once.
func skipLarge(t testing.TB) {
	t.Helper()
	t.Skip("race: much of the same, and nothing at once")
}
