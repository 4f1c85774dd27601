package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sent is what the outcome of an attempt depends on besides what came back.
func (c *Client) sent(cl *run.Call) outcome.Sent {
	return outcome.Sent{
		Method: cl.Method, Tool: cl.Tool, Resource: cl.Name, Version: cl.Link.Agreed.Version, Era: cl.Link.Agreed.Era,
		Exchanges: cl.Link.Traits.Exchanges, Restarts: c.keeper.Peek().Restarting(), Wait: c.wait(&cl.Options),
		Profile: c.cfg.profile,
	}
}

// failed is the error of what a transport failed and that is no attempt.
func (c *Client) failed(s outcome.Subject, err error) *mcperrors.Error {
	sent := outcome.Sent{Method: s.Method, Tool: s.Tool, Restarts: c.keeper.Peek().Restarting()}
	out := outcome.OfFailure(&sent, outcome.FailureOf(err))
	return c.about(s, out.Err)
}

// doubtInterval is how far apart answers that smell of an old list of tools
// have an effect (decisions 28): models make up names all the time.
const doubtInterval = 10 * time.Second

// doubtTool makes the list of tools stale when a server's error says that a tool
// on it does not exist.
func (c *Client) doubtTool(s outcome.Subject, e *mcperrors.Error) {
	if e.Kind != mcperrors.KindNotFound || s.Method != mcp.MethodToolsCall {
		return
	}
	doubted := &c.parts.Get().doubted
	now, last := time.Now(), doubted.Load()
	if (last == nil || now.Sub(*last) >= doubtInterval) && doubted.CompareAndSwap(last, &now) {
		c.InvalidateTools()
	}
}

// about fills in which call an error is about.
func (c *Client) about(s outcome.Subject, e *mcperrors.Error) *mcperrors.Error {
	e.Server, e.Method, e.Tool, e.Attempts = c.server, s.Method, s.Tool, s.Attempts
	if !s.ID.IsZero() {
		e.RequestID = s.ID.String()
	}
	return c.secrets.Error(e)
}

// local makes the error of a call that ended before, or without, a request.
func (c *Client) local(err error, method string) error {
	e := errormap.From(err, mcperrors.NotSent)
	e.Server, e.Method = c.server, method
	return c.secrets.Error(e)
}

// undecodable is the error of a result that does not follow the protocol.
func (c *Client) undecodable(s outcome.Subject, err error) error {
	return c.about(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+s.Method+" does not follow the protocol: "+jsonrpc.Printable(err.Error(), 300), err))
}

// badOption returns the error for a request or an option that cannot be right.
func badOption(err error) error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
}
