package jsonrpc

import (
	"flag"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if testmain.Race { // what is allocated is measured for a shorter time
		_ = flag.Set("test.benchtime", "100ms")
	}
	testmain.Run(m)
}
