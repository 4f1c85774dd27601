package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithRoots declares the folders that servers may look at: absolute file URIs
// without "..". No roots at all declare an empty list, which [Client.SetRoots] may
// fill. Share what the user agreed to, nothing else.
func WithRoots(roots ...mcp.Root) Option {
	return optionFunc(func(c *config) { c.offer.Roots = append([]mcp.Root{}, roots...) })
}

// SetRoots replaces the roots of [WithRoots], and notifies the server where the
// revision has a message for that. In the stateless era the server sees the new
// list when it asks next. SetRoots fails for a client without WithRoots, which
// declared no roots.
func (c *Client) SetRoots(ctx context.Context, roots ...mcp.Root) error {
	switch err := ask.CheckRoots(roots); {
	case err != nil:
		return badOption(err)
	case c.cfg.offer.Roots == nil:
		return c.local(mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
			"the server was not told of roots; connect with WithRoots", nil), mcp.MethodRootsListChanged)
	case c.isClosed():
		return c.local(errClosed(), mcp.MethodRootsListChanged)
	}
	c.dispatcher().SetRoots(roots)
	version := c.live.Agreed().Version
	declared := c.cfg.offer.Capabilities(version).Roots
	if !mcp.MethodIn(mcp.MethodRootsListChanged, version) || declared == nil || !declared.ListChanged {
		return nil
	}
	return c.Notify(ctx, mcp.MethodRootsListChanged, nil)
}
