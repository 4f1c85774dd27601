package client

import (
	"context"
	"time"
)

// sleep waits. It reports false when ctx or the client ends first.
func (c *Client) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-c.life.Context().Done():
	}
	return false
}
