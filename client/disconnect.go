package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
)

// watchEnd tells the application when the server ends a connection that nothing
// opens again.
func (c *Client) watchEnd() {
	l := c.live.Load()
	select {
	case <-c.life.Context().Done():
		return
	case <-l.Conn.Done():
	}
	if c.life.Closed() {
		return
	}
	cause := c.failed(outcome.Subject{}, l.Ended())
	c.log.Warn("[MCP] the server has ended the connection", "server", c.server, "error", cause)
	c.transition(StateEnded, cause, 0)
	c.emit(Disconnected{Cause: cause})
}

// gone is the error of a call that nothing can be done for because the program
// it was for has ended, nil while that runs or is about to. Waiting for the
// circuit to close would lead nowhere.
func (c *Client) gone(cl *run.Call) error {
	if k := c.restarting(); k != nil {
		if e := k.Refusal(); e != nil {
			return c.about(cl.Subject(), e)
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
	s := outcome.Sent{Method: cl.Method}
	if f := l.Ended(); s.HasEnded(f) {
		return c.failed(cl.Subject(), f)
	}
	return nil
}
