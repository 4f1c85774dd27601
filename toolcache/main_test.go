package toolcache_test

import (
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// S2-CACHE-10: a cache needs no closing and leaves no goroutine.
func TestMain(m *testing.M) { testmain.Run(m) }
