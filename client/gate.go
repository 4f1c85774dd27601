package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/capability"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// gate refuses what the revision does not have and what the server did not declare.
func (c *Client) gate(s outcome.Subject) error {
	return c.refusal(s, capability.CheckRequest(c.live.Agreed(), s.Method))
}

// refusal is about for an error that may be nil.
func (c *Client) refusal(s outcome.Subject, e *mcperrors.Error) error {
	if e == nil {
		return nil
	}
	return c.about(s, e)
}
