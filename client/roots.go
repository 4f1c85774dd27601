package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithRoots declares the directories that servers may look at, as absolute
// file URIs without "..". Share only what the user agreed to. Without
// arguments it declares an empty list, which [Client.SetRoots] can fill.
func WithRoots(roots ...mcp.Root) Option {
	return optionFunc(func(c *config) { c.offer.Roots = append([]mcp.Root{}, roots...) })
}

// SetRoots replaces the roots of [WithRoots]. It notifies the server if the
// revision has a message for that; in the stateless era the server sees the
// new list the next time it asks. SetRoots fails without WithRoots, because
// such a client declared no roots.
func (c *Client) SetRoots(ctx context.Context, roots ...mcp.Root) error {
	switch err := ask.CheckRoots(roots); {
	case err != nil:
		return badOption(err)
	case c.cfg.offer.Roots == nil:
		return c.core.Local(mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
			"this client declared no roots; connect with WithRoots", nil), mcp.MethodRootsListChanged)
	case c.core.Life.Closed():
		return c.core.Local(life.ErrClosed(), mcp.MethodRootsListChanged)
	}
	c.inbound().Asks().SetRoots(roots)
	version := c.core.Links.Agreed().Version
	declared := c.cfg.offer.Capabilities(version).Roots
	if !mcp.MethodIn(mcp.MethodRootsListChanged, version) || declared == nil || !declared.ListChanged {
		return nil
	}
	return c.Notify(ctx, mcp.MethodRootsListChanged, nil)
}
