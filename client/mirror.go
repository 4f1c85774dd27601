package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// findHeaders finds the arguments of a tool call that headers repeat.
func (c *Client) findHeaders(ctx context.Context, cl *run.Call) (err error) {
	if cl.Method != mcp.MethodToolsCall || cl.Name == "" || !c.live.Load().StatelessHTTP() {
		return nil
	}
	var unlisted bool
	if cl.Headers, unlisted, err = c.catalog().Headers(ctx, cl.Name, cl.Params); !unlisted {
		return err
	}
	cl.Waited = true
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	cl.Headers, err = c.catalog().FindHeaders(ctx, cl.Name, cl.Params)
	return err
}
