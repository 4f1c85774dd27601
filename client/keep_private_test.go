package client

// RestartNow lets the tests of the package's users do what the silence detector
// does.
func (c *Client) RestartNow(cause error) {
	if k := c.restarting(); k != nil {
		k.Kill(c.live.Load(), cause)
	}
}
