package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
)

// gate refuses what the revision does not have and what the server did not declare.
func (c *Client) gate(s outcome.Subject) error {
	return c.core.Refusal(s, link.CheckRequest(c.core.Links.Agreed(), s.Method))
}
