package core

import (
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// About sets in e the call that failed, and hides secrets in e.
func (c *Core) About(s outcome.Subject, e *mcperrors.Error) *mcperrors.Error {
	e.Server, e.Method, e.Tool, e.Attempts = c.Server, s.Method, s.Tool, s.Attempts
	if !s.ID.IsZero() {
		e.RequestID = s.ID.String()
	}
	return c.hide(e)
}

// Refusal is About for an error that may be nil.
func (c *Core) Refusal(s outcome.Subject, e *mcperrors.Error) error {
	if e == nil {
		return nil
	}
	return c.About(s, e)
}

// Local returns the error of a call that ended before a request was sent, or without one.
func (c *Core) Local(err error, method string) error {
	e := errormap.From(err, mcperrors.NotSent)
	e.Server, e.Method = c.Server, method
	return c.hide(e)
}

// Undecodable returns the error of a result that does not follow the protocol.
func (c *Core) Undecodable(s outcome.Subject, err error) error {
	return c.About(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+s.Method+" does not follow the protocol: "+jsonrpc.Printable(err.Error(), 300), err))
}
