package clienttest_test

import (
	"testing"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A test of a program that retries a tool once.
func ExampleNewServer() {
	_ = func(t *testing.T) { // TestRetry
		srv := clienttest.NewServer(t)
		srv.Tool("greet", "", func(call *clienttest.Call) (any, error) {
			return clienttest.Text("hello"), nil
		})
		c, err := client.Connect(t.Context(), srv.Transport())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		srv.Fail(1, jsonrpc.NewError(jsonrpc.CodeInternalError, "busy", nil))
		_, err = c.CallTool(t.Context(), "greet", nil) // your program here
		if err == nil || srv.Count("tools/call") != 1 {
			t.Error("the first call was to fail")
		}
	}
}
