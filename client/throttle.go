package client

import "time"

// ThrottledFor returns how long the client still holds its calls back because the
// server has throttled these credentials (429 with Retry-After). It returns 0 if
// calls may go out. It takes no lock.
func (c *Client) ThrottledFor() time.Duration {
	if parts := c.parts.peek(); parts != nil {
		if h := parts.held.Load(); h != nil {
			return max(0, time.Until(h.until))
		}
	}
	return 0
}

// Throttle holds the calls of this client back for d from now, as a 429 response
// with Retry-After does. Use it when another process has learned that the server
// throttles the same credentials. A throttle is never shortened: an end that is
// earlier than the present one has no effect. Throttle does nothing if d is 0 or
// less, or if the client has no breaker.
func (c *Client) Throttle(d time.Duration) {
	if d <= 0 || c.res.Breaker == nil && !c.cfg.ownBreaker {
		return
	}
	next, gate := &held{until: time.Now().Add(d)}, &c.parts.get().held
	for {
		now := gate.Load()
		if now != nil && !next.until.After(now.until) || gate.CompareAndSwap(now, next) {
			return
		}
	}
}
