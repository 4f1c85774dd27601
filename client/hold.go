package client

import "time"

// HoldLeft returns how long calls of this client are kept back because the server
// has said that these credentials ask too often (429 with Retry-After), 0 when
// they are not. It takes no lock.
func (c *Client) HoldLeft() time.Duration {
	if parts := c.parts.peek(); parts != nil {
		if h := parts.held.Load(); h != nil {
			return max(0, time.Until(h.until))
		}
	}
	return 0
}

// Hold keeps calls of this client back for d from now, as a 429 of the server
// would: for programs that have learnt elsewhere what the server said to the same
// credentials. A hold only grows. Without a breaker it has no effect, nor has d of
// 0 or less.
func (c *Client) Hold(d time.Duration) {
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
