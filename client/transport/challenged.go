package transport

import "sync/atomic"

// ChallengedCall is what the challenges of one call have in common. With it, an
// [Authorizer] counts what it has done for a call, and learns whether that helped. Its
// methods may be called from many goroutines.
type ChallengedCall struct{ succeeded atomic.Bool }

// Succeed notes that the call has succeeded. It does nothing for nil, a call without
// challenges.
func (c *ChallengedCall) Succeed() {
	if c != nil {
		c.succeeded.Store(true)
	}
}

// Succeeded reports whether the call has succeeded.
func (c *ChallengedCall) Succeeded() bool { return c != nil && c.succeeded.Load() }
