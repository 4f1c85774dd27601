package client

import (
	"context"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ask makes a call that passes the gate and decodes its result into res. What
// the server lets a client keep may come from the cache.
func (c *Client) ask(ctx context.Context, cl *call, res any) error {
	if err := c.gate(cl.Subject()); err != nil {
		return err
	}
	_, err := c.cachedCall(ctx, cl, cl.Name, res)
	return err
}

// params encodes what a call is sent with.
func (c *Client) params(cl *call, params any) error {
	raw, err := mcp.Marshal(params)
	if err != nil {
		return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the parameters cannot be encoded: "+err.Error(), err))
	}
	cl.Params = doc.OpenObject(raw)
	return nil
}

// named refuses an empty name or URI: no server has one, and in the stateless
// era a header repeats it.
func (c *Client) named(cl *call, what string) error {
	if cl.Name != "" {
		return nil
	}
	return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
		"the "+what+" must not be empty", nil))
}
