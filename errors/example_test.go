package mcperrors_test

import (
	"context"
	"errors"
	"fmt"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func Example() {
	// A call on a client returns such an error when the server answers with an error.
	answer := &jsonrpc.Error{Code: -32003, Message: "no space for the export"}
	failed := mcperrors.New(mcperrors.CodeExportFailed, mcperrors.KindServer, mcperrors.Answered, answer.Message, nil)
	failed.RPC, failed.Tool = answer, "export_html"
	var err error = failed

	var rpc *jsonrpc.Error
	switch {
	case errors.Is(err, mcperrors.ErrCircuitOpen):
		fmt.Println("shed load")
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Println("too slow")
	case errors.As(err, &rpc):
		fmt.Println("the server says", rpc.Code)
	}
	fmt.Println(mcperrors.CodeOf(err), mcperrors.Retryable(err), mcperrors.SafeToRetry(err))
	fmt.Println(err)
	// Output:
	// the server says -32003
	// E303 true false
	// no space for the export (code -32003) (tool export_html)
}
