package auth_test

import (
	"os"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if work := os.Getenv(childVariable); work != "" {
		os.Exit(child(work, os.Args[1], os.Args[2])) //nolint:forbidigo // this branch is the main of another process
	}
	testmain.Run(m)
}
