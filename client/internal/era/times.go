package era

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// DefaultProbeTimeout is the head start of the probe over stdio.
const DefaultProbeTimeout = 10 * time.Second

// httpHeadStart is the head start of a probe over HTTP, where an answer takes a round trip, not
// the start of a program.
const httpHeadStart = 2 * time.Second

// headStart returns how long the client waits for a probe before it sends initialize beside it.
func (n *Finder) headStart(ctx context.Context) time.Duration {
	if n.traits().Exchanges {
		return n.probeBound(ctx, httpHeadStart)
	}
	return n.probeBound(ctx, DefaultProbeTimeout)
}

// probeWait limits a probe without another request beside it.
func (n *Finder) probeWait(ctx context.Context) jsonrpc.Wait {
	if n.traits().Exchanges && n.ProbeTimeout == 0 {
		return n.Wait
	}
	return jsonrpc.Wait{Max: n.probeBound(ctx, DefaultProbeTimeout)}
}

// probeBound limits a probe: to usual, or to the option's value. It is at most half of the
// caller's time, so that the rest suffices for a session.
func (n *Finder) probeBound(ctx context.Context, usual time.Duration) time.Duration {
	bound := usual
	if n.ProbeTimeout > 0 {
		bound = n.ProbeTimeout
	}
	if end, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(end)/2)
	}
	for _, d := range []time.Duration{n.Wait.Idle, n.Wait.Max} {
		if d > 0 {
			bound = min(bound, d)
		}
	}
	return max(time.Millisecond, bound.Truncate(time.Millisecond))
}
