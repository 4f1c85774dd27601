package jsonrpc

import (
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	hurry()
	testmain.Run(m)
}
