package guard

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// outageStep is the minimum time between two failures that count. A restarted server is away for
// half a second, which must not open a circuit.
const outageStep = 250 * time.Millisecond

// outage counts an event that many calls see at the same moment only once: lost connections, or a
// server that does not listen. A server that crashes during eight calls has failed once, and so
// has a program that exits.
type outage struct {
	began time.Time
	last  atomic.Int64 // time since began of the last failure that counted; 0 for none
}

// once returns the verdict of a failed request for the circuit b of the server.
func (g *Gate) once(b *breaker.Breaker, a *resilience.Attempt, v breaker.Verdict) breaker.Verdict {
	if b == nil || b.CountAll() {
		return v
	}
	return g.parts().outage.judge(a, v)
}

// judge changes the verdict of a failure to Neutral if another failure of the same outage has
// just counted.
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
