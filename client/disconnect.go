package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
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
	cause := c.failed(subject{}, l.Ended())
	c.log.Warn("[MCP] the server has ended the connection", "server", c.server, "error", cause)
	c.enter(StateEnded, cause, 0)
	c.emit(Disconnected{Cause: cause})
}

// gone is the error of a call that nothing can be done for because the program
// it was for has ended, nil while that runs or is about to. Waiting for the
// circuit to close would lead nowhere.
func (c *Client) gone(cl *call) error {
	if k := c.restarting(); k != nil {
		if e := k.Refusal(); e != nil {
			return c.about(cl.subject(), e)
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
	s := outcome.Sent{Method: cl.method}
	if f := l.Ended(); s.HasEnded(f) {
		return c.failed(cl.subject(), f)
	}
	return nil
}
