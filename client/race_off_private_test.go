//go:build !race

package client

import "testing"

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }

// skipLarge does nothing: see where the race detector runs.
func skipLarge(testing.TB) {}
