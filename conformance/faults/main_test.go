package faults

import (
	"context"
	"os"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// Roles of this test binary when it is started again.
const (
	roleVar    = "MAINSTAY_FAULTS_ROLE"
	roleProxy  = "proxy"
	roleServer = "server"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case roleProxy:
		// The server behind it is this binary too.
		_ = os.Setenv(roleVar, roleServer)
		os.Exit(Main(context.Background(), os.Args[1:])) //nolint:forbidigo // this is the main of a program
	case roleServer:
		(&fakeServer{}).serve(os.Stdin, os.Stdout)
		return
	}
	testmain.Run(m)
}
