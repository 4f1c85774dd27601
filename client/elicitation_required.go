package client

import (
	"bytes"
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// runErrands does what a server wants done before it takes a call: all its URL
// elicitations, in order. ran is true when the user agreed to each; then the
// call may be made again (ELIC-08). In every revision but 2025-11-25 the code is
// some error of the server's own.
func (c *Client) runErrands(ctx context.Context, cl *call, rpc *jsonrpc.Error) (ran bool) {
	agreed := cl.link.Agreed
	if agreed.Version != mcp.Version2025_11_25 || c.cfg.onURL == nil || cl.mended&mendedErrands != 0 {
		return false
	}
	cl.mended |= mendedErrands
	var data mcp.URLElicitationRequiredData
	if mcp.Unmarshal(bytes.Clone(rpc.Data), &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxInputRequests {
		return false
	}
	if slices.ContainsFunc(data.Elicitations, func(p mcp.ElicitParams) bool { return p.Mode != mcp.ElicitURL }) {
		return false
	}
	for _, p := range data.Elicitations {
		if !c.runErrand(ctx, c.asker(agreed, cl.method, cl.tool), &p) {
			return false
		}
	}
	return true
}

func (c *Client) runErrand(ctx context.Context, from Asker, p *mcp.ElicitParams) bool {
	params, err := mcp.Marshal(p)
	if err != nil {
		return false
	}
	raw, no := c.fulfil(ctx, from, mcp.MethodElicitationCreate, params)
	if no != nil {
		c.log.Warn("[MCP] what the server wants done before the call cannot be", "server", c.server, "error", no)
		return false
	}
	var res mcp.ElicitResult
	return mcp.Unmarshal(raw, &res) == nil && res.Action == mcp.ElicitAccept
}
