package client

import "github.com/mainstay-mcp/mainstay/mcp"

// capabilities is what the client offers in a revision (LC-13, DISC-10).
func (c *Client) capabilities(mcp.Version) mcp.ClientCapabilities { return c.cfg.capabilities }
