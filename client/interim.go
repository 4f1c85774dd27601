package client

import (
	"strconv"

	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// misplaced is the error of a result of a type that the call cannot have.
func (c *Client) misplaced(cl *run.Call, kind mcp.ResultType) error {
	return c.about(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the server answered with an unexpected result type, "+strconv.Quote(jsonrpc.Printable(string(kind), 40)), nil))
}

// acceptUntyped takes a result without a type for complete, unless the application
// wants servers to be exact (DISC-13).
func (c *Client) acceptUntyped(cl *run.Call) error {
	if c.cfg.validation.ResultTypes {
		return c.about(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the server's result has no resultType", nil))
	}
	if c.untyped.CompareAndSwap(false, true) {
		c.log.Warn("[MCP] the server's results have no resultType; they count as complete", "server", c.server,
			"method", cl.Method)
	}
	return nil
}
