package client

import (
	"context"
	"encoding/json"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// interim looks at a result of the stateless era. done is true for one that ends
// the call; else the call is to be made again, with what the server asked for
// (DISC-12, DISC-13).
func (c *Client) interim(ctx context.Context, cl *call, raw json.RawMessage) (done bool, err error) {
	switch kind := mcp.PeekResultType(raw); kind {
	case "", mcp.ResultComplete:
		return true, nil
	case mcp.ResultInputRequired:
		return false, c.answerInput(ctx, cl, raw)
	default:
		return false, c.about(cl, mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
			"the server answered with a result of an unknown type, "+jsonrpc.Printable(string(kind), 40), nil))
	}
}
