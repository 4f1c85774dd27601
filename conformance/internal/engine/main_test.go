package engine

import (
	"os"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" {
		serveLines(os.Stdin, os.Stdout)
		return
	}
	testmain.Run(m)
}
