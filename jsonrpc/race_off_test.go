//go:build !race

package jsonrpc

import "testing"

const raced = false

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }

// hurry changes nothing.
func hurry() {}

// skipLarge does nothing: see where the race detector runs.
func skipLarge(testing.TB) {}
