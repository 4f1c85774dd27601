package guard

import (
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Throttle is a server's wish not to be asked with these credentials for a time
// (429 with Retry-After). The zero Throttle, and a nil one, keeps nothing back.
// Its methods may be called from many goroutines at once and take no lock.
type Throttle struct {
	until atomic.Pointer[time.Time] // nil for no throttle
}

// Extend keeps requests back for d from now. It reports false when they are kept
// back for longer already.
func (t *Throttle) Extend(d time.Duration) bool {
	next := time.Now().Add(d)
	for {
		now := t.until.Load()
		if now != nil && !next.After(*now) {
			return false
		}
		if t.until.CompareAndSwap(now, &next) {
			return true
		}
	}
}

// Left returns how long requests are kept back, 0 when they are not.
func (t *Throttle) Left() time.Duration {
	if t == nil {
		return 0
	}
	until := t.until.Load()
	if until == nil {
		return 0
	}
	if left := time.Until(*until); left > 0 {
		return left
	}
	t.until.CompareAndSwap(until, nil)
	return 0
}

// Refusal returns the error of a request that is kept back, nil for none.
func (t *Throttle) Refusal() *mcperrors.Error {
	left := t.Left()
	if left == 0 {
		return nil
	}
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent,
		"the server is asked too often and wants to be left alone", nil)
	e.RetryAfter = left
	return e
}
