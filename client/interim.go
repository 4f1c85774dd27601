package client

import (
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// misplaced is the error of a result of a type that the call cannot have.
func (c *Client) misplaced(cl *call, kind mcp.ResultType) error {
	return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the server answered with a result of a type that does not belong here, "+jsonrpc.Printable(string(kind), 40), nil))
}

// acceptUntyped takes a result without a type for complete, unless the application
// wants servers to be exact (DISC-13).
func (c *Client) acceptUntyped(cl *call) error {
	if c.cfg.strict {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the server's result does not say its type", nil))
	}
	if c.untyped.CompareAndSwap(false, true) {
		c.log.Warn("[MCP] the server's results do not say their type; they are taken for complete", "server", c.server,
			"method", cl.method)
	}
	return nil
}
