package client

import (
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// negotiate opens the conversation in the era the options ask for.
func (c *Client) negotiate(ctx context.Context) error {
	version := mcp.Version(c.cfg.version)
	if version == "" {
		version = mcp.LatestSession
	}
	var err error
	if version.Era() == mcp.EraStateless {
		err = c.openStateless(ctx, version)
	} else {
		err = c.openSession(ctx, version)
	}
	if err != nil {
		return err
	}
	agreed := c.told()
	c.log.Info(fmt.Sprintf("[MCP] Connected to %s v%s", jsonrpc.Printable(agreed.info.Name, 100), jsonrpc.Printable(agreed.info.Version, 50)), "server", c.server)
	c.log.Info(fmt.Sprintf("[MCP] Protocol version: %s", agreed.version), "server", c.server)
	c.emit(Connected{Server: agreed.info, Version: agreed.version})
	return nil
}
