//go:build !race

package client

import "testing"

// skipLarge does nothing: see where the race detector runs.
func skipLarge(testing.TB) {}
