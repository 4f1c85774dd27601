package testmain_test

import (
	"os"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// TestMain runs the tests, or those that one of them has planted.
func TestMain(m *testing.M) {
	if run := planted[os.Getenv(plantedVariable)]; run != nil {
		testmain.Run(run)
	}
	testmain.Run(m)
}
