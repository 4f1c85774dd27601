package guard

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// outageStep is how far apart failures of one outage count. A server that is started
// again has been away for half a second, and closes no circuit by that.
const outageStep = 250 * time.Millisecond

// outage counts what many calls see at the same moment once: the end of their
// connections, or that nothing listens. A server that crashes under eight calls has failed
// once; the end of a program counts once, too.
type outage struct {
	began time.Time
	last  atomic.Int64 // when a failure of this kind counted last, since began; 0 before
}

// once is the verdict of a failed request for the circuit b of the server.
func (g *Gate) once(b *breaker.Breaker, a *resilience.Attempt, v breaker.Verdict) breaker.Verdict {
	if b == nil || b.CountAll() {
		return v
	}
	return g.parts().outage.judge(a, v)
}

// judge makes the verdict of a failure Neutral if another of the same outage has just
// counted.
func (o *outage) judge(a *resilience.Attempt, v breaker.Verdict) breaker.Verdict {
	if v != breaker.Failure || !a.Absent && a.Class != resilience.ClassLost && a.Class != resilience.ClassTruncated {
		return v
	}
	now, last := int64(time.Since(o.began))+1, o.last.Load()
	if last > 0 && now-last < int64(outageStep) || !o.last.CompareAndSwap(last, now) {
		return breaker.Neutral
	}
	return v
}
