package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// gate returns an error for a method that the revision does not have, or whose capability
// the server did not declare.
func (c *Client) gate(s outcome.Subject) error {
	return c.core.Refusal(s, link.CheckRequest(c.core.Links.Agreed(), s.Method))
}

// fetch checks and makes a call, and returns its result, which may come from the cache.
func fetch[R any](ctx context.Context, c *Client, cl *call) (*R, error) {
	if err := c.gate(cl.Subject()); err != nil {
		return nil, err
	}
	res := new(R)
	if _, err := c.cachedCall(ctx, cl, cl.Name, res); err != nil {
		return nil, err
	}
	return res, nil
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
