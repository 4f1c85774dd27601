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

// Throttle is the pause that a server requests for these credentials (429 with Retry-After). The
// zero Throttle and nil hold nothing back. Its methods may be called from many goroutines at once
// and take no lock.
type Throttle struct {
	until atomic.Pointer[time.Time] // nil for no throttle
}

// Extend holds requests back for d from now. It returns false if they are already held back for
// longer.
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

// Left returns how long requests are held back, 0 if they are not.
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

// askedForPause is the message for a throttled request. The status requests the pause, and most
// servers send its duration.
const askedForPause = "the server asked for a pause between requests (status 429 or 503)"

// Refusal returns the error of a throttled request, nil if there is no throttle.
func (t *Throttle) Refusal() *mcperrors.Error {
	left := t.Left()
	if left == 0 {
		return nil
	}
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, askedForPause, nil)
	e.RetryAfter = left
	return e
}

// Throttle returns the throttle that a 429 set, nil before the first one.
func (g *Gate) Throttle() *Throttle {
	if h := g.made.Peek(); h != nil {
		return &h.throttle
	}
	return nil
}

// ThrottleFor holds requests back for d from now, as a 429 does. It does nothing if d is 0 or
// less, or if the server has no circuit.
func (g *Gate) ThrottleFor(d time.Duration) {
	if d > 0 && g.set.guarded() {
		g.parts().throttle.Extend(d)
	}
}

// ObeyRetryAfter applies the Retry-After in the answer to a request without a permit. It returns
// the requested pause.
func (g *Gate) ObeyRetryAfter(r Request, a resilience.Attempt) time.Duration {
	d := a.Judge(g.ToolLevel()).Throttle
	if d > 0 {
		g.throttleFor(&r, g.circuit(r.Purpose == link.Handshake), &a, d)
	}
	return d
}

// throttleFor applies a Retry-After: a 503 throttles all clients that share the circuit of the
// server, a 429 throttles this client.
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
