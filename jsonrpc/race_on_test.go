//go:build race

package jsonrpc

import (
	"flag"
	"testing"
)

// raced says that the race detector runs: sync.Pool then drops things at
// random, and what is pooled is allocated now and then.
const raced = true

// fewer is how many rounds of the same do for n: each takes ten times as long.
func fewer(n int) int { return max(1, n/5) }

// hurry has tests that measure what is allocated do so for a shorter time.
func hurry() { _ = flag.Set("test.benchtime", "100ms") }

// skipLarge skips a test of much of the same with nothing else going on: under the
// race detector it takes ten times as long, and nothing in it is at once.
func skipLarge(t testing.TB) {
	t.Helper()
	t.Skip("race: much of the same, and nothing at once")
}
