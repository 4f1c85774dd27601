package toolcache_test

import (
	"testing"

	"go.uber.org/goleak"
)

// S2-CACHE-10: a cache needs no closing and leaves no goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
