package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause is how long to wait before the n-th try, counted from 1: any time up to
// a bound that doubles with each, so that those who failed together do not come
// back together.
func pause(first, most time.Duration, n int) time.Duration {
	bound := first
	for ; n > 1 && bound < most; n-- {
		bound *= 2
	}
	return rand.N(min(bound, most)) + 1
}

// sleep is [sleep] that the end of the client ends too.
func (c *Client) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-c.life.Done():
	}
	return false
}

// sleep waits, and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
