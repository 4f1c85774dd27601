package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// interim looks at a result of the stateless era. done is true for one that ends
// the call; else the call is to be made again, with what the server asked for
// (DISC-12, DISC-13).
func (c *Client) interim(ctx context.Context, cl *call, out *outcome.Outcome) (done bool, err error) {
	if !out.Typed {
		return c.takeUntyped(cl)
	}
	switch out.Kind {
	case mcp.ResultComplete:
		return true, nil
	case mcp.ResultInputRequired:
		return false, c.answerInput(ctx, cl, out.Result)
	case mcp.ResultTask:
		if c.becameTask(cl) {
			return true, nil
		}
		fallthrough
	default:
		return false, c.about(cl.subject(), mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
			"the server answered with a result of a type that does not belong here, "+jsonrpc.Printable(string(out.Kind), 40), nil))
	}
}

// takeUntyped judges a result that does not say its type: it is complete,
// unless the application wants servers to be exact (DISC-13).
func (c *Client) takeUntyped(cl *call) (done bool, err error) {
	if c.cfg.strict {
		return false, c.about(cl.subject(), mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
			"the server's result does not say its type", nil))
	}
	if c.untyped.CompareAndSwap(false, true) {
		c.log.Warn("[MCP] the server's results do not say their type; they are taken for complete", "server", c.server,
			"method", cl.method)
	}
	return true, nil
}
