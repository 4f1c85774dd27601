package cache

import (
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// A cache needs no closing and leaves no goroutine.
func TestMain(m *testing.M) {
	if testmain.Race { // nothing races in a hash
		storeRounds = 1 << 6
	}
	testmain.Run(m)
}
