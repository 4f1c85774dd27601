package client

import "github.com/mainstay-mcp/mainstay/mcp"

// reattend gives a program that was started again what the one before had.
func (c *Client) reattend(before *agreement) {
	if c.told().era == mcp.EraSession {
		c.restore(c.life)
		return
	}
	c.tellListsChanged(c.declared(allLists))
}
