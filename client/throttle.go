package client

import "time"

// ThrottledFor returns how long the client still holds its calls back because the
// server has throttled these credentials (429 with Retry-After). It returns 0 if
// calls may go out. It takes no lock.
func (c *Client) ThrottledFor() time.Duration { return c.throttle().Left() }

// Throttle holds the calls of this client back for d from now, as a 429 response
// with Retry-After does. Use it when another process has learned that the server
// throttles the same credentials. A throttle is never shortened: an end that is
// earlier than the present one has no effect. Throttle does nothing if d is 0 or
// less, or if the client has no breaker.
func (c *Client) Throttle(d time.Duration) {
	if d <= 0 || c.res.Breaker == nil && !c.cfg.ownBreaker {
		return
	}
	c.parts.get().throttle.get().Extend(d)
}
