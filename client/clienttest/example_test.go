package clienttest_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
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

// A test of what a program does when the server limits its rate, and when a
// connection breaks after a payment. The 5 seconds cost no time.
func ExampleHTTPError() {
	_ = func(t *testing.T) { // TestLimitAndCut
		synctest.Test(t, func(t *testing.T) {
			srv := clienttest.NewServer(t)
			srv.Tool("greet", "", func(*clienttest.Call) (any, error) { return clienttest.Text("hello"), nil })
			srv.Tool("pay", "", func(*clienttest.Call) (any, error) { return nil, clienttest.ErrCut })
			c, err := client.Connect(t.Context(), srv.HTTP())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()

			srv.Fail(1, &clienttest.HTTPError{Status: 429, Header: http.Header{"Retry-After": {"5"}}})
			if _, err = c.CallTool(t.Context(), "greet", nil); err != nil || srv.Count("tools/call") != 2 {
				t.Error("the call was to be made again")
			}
			if _, err = c.CallTool(t.Context(), "pay", nil); mcperrors.DeliveryOf(err) != mcperrors.Unknown {
				t.Error("nobody knows whether it was paid")
			}
		})
	}
}
