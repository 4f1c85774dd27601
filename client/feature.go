package client

import (
	"context"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ask checks and makes a call, and decodes its result into res. The result may come from
// the cache.
func (c *Client) ask(ctx context.Context, cl *call, res any) error {
	if err := c.gate(cl.Subject()); err != nil {
		return err
	}
	_, err := c.cachedCall(ctx, cl, cl.Name, res)
	return err
}

// params encodes the params of a call.
func (c *Client) params(cl *call, params any) error {
	raw, err := mcp.Marshal(params)
	if err != nil {
		return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the parameters cannot be encoded: "+err.Error(), err))
	}
	cl.Params = doc.OpenObject(raw)
	return nil
}

// named returns an error for an empty name or URI. No server has one, and in the
// stateless era a header repeats it.
func (c *Client) named(cl *call, what string) error {
	if cl.Name != "" {
		return nil
	}
	return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
		"the "+what+" must not be empty", nil))
}
