package guard

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
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

// askedForPause is the message for a request that is kept back. The server asks by its
// status, and most servers say for how long.
const askedForPause = "the server asked for a pause between requests (status 429 or 503)"

// Refusal returns the error of a request that is kept back, nil for none.
func (t *Throttle) Refusal() *mcperrors.Error {
	left := t.Left()
	if left == 0 {
		return nil
	}
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, askedForPause, nil)
	e.RetryAfter = left
	return e
}

// Throttle returns what a 429 has set, nil before there was one.
func (g *Gate) Throttle() *Throttle {
	if h := g.made.Peek(); h != nil {
		return &h.throttle
	}
	return nil
}

// ThrottleFor holds requests back as a 429 does, for d from now. It does nothing if d is
// 0 or less, or if the server has no circuit.
func (g *Gate) ThrottleFor(d time.Duration) {
	if d > 0 && g.set.guarded() {
		g.parts().throttle.Extend(d)
	}
}

// ObeyRetryAfter does what the server asks for by the answer to a request that has no
// permit. It returns how long the server wants to be left alone.
func (g *Gate) ObeyRetryAfter(r Request, a resilience.Attempt) time.Duration {
	d := a.Judge(g.ToolLevel()).Hold
	if d > 0 {
		g.throttleFor(&r, g.circuit(r.Purpose == link.Handshake), &a, d)
	}
	return d
}

// throttleFor does what a Retry-After asks for: all that share its circuit leave a busy
// server alone (503), and this client one that is asked too often (429).
func (g *Gate) throttleFor(r *Request, b *breaker.Breaker, a *resilience.Attempt, d time.Duration) {
	if a.Status != http.StatusTooManyRequests {
		if b != nil {
			b.Throttle(d, a.Class.String())
			g.Report(ThrottledServer, r.Subject, d, a.Class.String())
		}
		return
	}
	if g.set.guarded() && g.parts().throttle.Extend(d) {
		g.Report(ThrottledCredentials, r.Subject, d, a.Class.String())
	}
}
