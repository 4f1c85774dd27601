package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sent is what the outcome of an attempt depends on besides what came back.
func (c *Client) sent(cl *call) outcome.Sent {
	return outcome.Sent{
		Method: cl.method, Tool: cl.tool, Resource: cl.name, Version: cl.link.Agreed.Version, Era: cl.link.Agreed.Era,
		Exchanges: cl.link.Traits.Exchanges, Restarts: c.restarting() != nil, Wait: c.wait(cl.opts),
		Profile: c.cfg.profile,
	}
}

// failed is the error of what a transport failed and that is no attempt.
func (c *Client) failed(s subject, err error) *mcperrors.Error {
	sent := outcome.Sent{Method: s.method, Tool: s.tool, Restarts: c.restarting() != nil}
	out := outcome.OfFailure(&sent, outcome.FailureOf(err))
	return c.about(s, out.Err)
}

// doubtInterval is how far apart answers that smell of an old list of tools
// have an effect (decisions 28): models make up names all the time.
const doubtInterval = 10 * time.Second

// doubtTool makes the list of tools stale when a server's error says that a tool
// on it does not exist.
func (c *Client) doubtTool(s subject, e *mcperrors.Error) {
	if e.Kind != mcperrors.KindNotFound || s.method != mcp.MethodToolsCall {
		return
	}
	doubted := &c.parts.get().doubted
	now, last := time.Now(), doubted.Load()
	if (last == nil || now.Sub(*last) >= doubtInterval) && doubted.CompareAndSwap(last, &now) {
		c.InvalidateTools()
	}
}

// about fills in which call an error is about.
func (c *Client) about(s subject, e *mcperrors.Error) *mcperrors.Error {
	e.Server, e.Method, e.Tool, e.Attempts = c.server, s.method, s.tool, s.attempts
	if !s.id.IsZero() {
		e.RequestID = s.id.String()
	}
	return c.hideOurs(e)
}

// local makes the error of a call that ended before, or without, a request.
func (c *Client) local(err error, method string) error {
	e := errormap.From(err, mcperrors.NotSent)
	e.Server, e.Method = c.server, method
	return c.hideOurs(e)
}

// undecodable is the error of a result that is not what the protocol asks for.
func (c *Client) undecodable(s subject, err error) error {
	return c.about(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+s.method+" is not what the protocol asks for: "+jsonrpc.Printable(err.Error(), 300), err))
}
