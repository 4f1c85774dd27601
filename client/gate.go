package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
)

// gate returns an error for a method that the revision does not have, or whose capability
// the server did not declare.
func (c *Client) gate(s outcome.Subject) error {
	return c.core.Refusal(s, link.CheckRequest(c.core.Links.Agreed(), s.Method))
}
