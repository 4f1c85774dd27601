package client

import (
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// watchEnd tells the application when the server ends a connection that nothing
// opens again.
func (c *Client) watchEnd() {
	l := c.live.Load()
	select {
	case <-c.life.Done():
		return
	case <-l.Conn.Done():
	}
	if c.isClosed() {
		return
	}
	cause := c.failed(subject{}, jsonrpc.Wait{}, l.Ended())
	c.log.Warn("[MCP] the server has ended the connection", "server", c.server, "error", cause)
	c.enter(StateEnded, cause, 0)
	c.emit(Disconnected{Cause: cause})
}

// gone is the error of a call that nothing can be done for because the program
// it was for has ended, nil while that runs or is about to. Waiting for the
// circuit to close would lead nowhere.
func (c *Client) gone(cl *call) error {
	if s := c.sup.peek(); s != nil {
		if o := s.down.Load(); o != nil {
			if e := o.refusal(); e != nil {
				return c.about(cl.subject(), e)
			}
		}
		return nil
	}
	l := c.live.Load()
	if !l.Traits.Process {
		return nil
	}
	select {
	case <-l.Conn.Done():
	default:
		return nil
	}
	if f := l.Ended(); c.hasEnded(cl.method, f) {
		return c.failed(cl.subject(), jsonrpc.Wait{}, f)
	}
	return nil
}

// hasEnded reports whether a call found the program ended, which nothing starts
// again. While connecting, the next attempt starts another.
func (c *Client) hasEnded(method string, f *transport.Failure) bool {
	connecting := method == mcp.MethodInitialize || method == mcp.MethodDiscover
	return f.Reason == transport.ReasonLost && f.NotSent && f.Process != nil && f.Process.Exited && !connecting && c.sup.peek() == nil
}

// endedForGood reports an error of [ended].
func endedForGood(e *mcperrors.Error) bool {
	return !e.Retryable && e.Process != nil && e.Process.Exited
}

// ended makes the error say so.
func ended(e *mcperrors.Error) {
	e.Message = "the server has ended; close this client and connect anew to start it again"
	e.Retryable = false // here it will not come back
	e.SuggestedAction = "Contact support"
}
