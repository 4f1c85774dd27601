package transport_test

import (
	"os"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// TestMain runs the tests, or is one of the programs they start: see
// child_test.go.
func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		runProgram(name)
		return
	}
	testmain.Run(m)
}
