package transport

import "sync/atomic"

// ChallengedCall is shared by all challenges of one call. It lets an [Authorizer] count its
// attempts for a call, and learn whether they helped. Its methods may be called from many
// goroutines.
type ChallengedCall struct{ succeeded atomic.Bool }

// Succeed records that the call has succeeded. It does nothing for nil, a call without
// challenges.
func (c *ChallengedCall) Succeed() {
	if c != nil {
		c.succeeded.Store(true)
	}
}

// Succeeded reports whether the call has succeeded.
func (c *ChallengedCall) Succeeded() bool { return c != nil && c.succeeded.Load() }
