package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// newSilence makes the detector of servers that hang.
func (c *Client) newSilence() *guard.Silence {
	return c.parts.get().silence.made(func() *guard.Silence {
		set := &guard.SilenceConfig{
			After: c.res.Silence, Links: &c.live, Breaker: c.Breaker(), Throttled: c.ThrottledFor, InFlight: &c.inFlight,
			Server: c.server, Log: c.log, Life: c.life, Go: c.within,
			Ask: c.breakSilence, Tripped: c.fellSilent, Deaf: c.restart,
		}
		if meter := c.cfg.meter; meter != nil {
			set.Late = func(n int) { meter.Happened(Happening{What: LateAnswers, Server: c.server, Count: n}) }
		}
		return guard.NewSilence(set, time.Now())
	})
}

// breakSilence asks a silent server for a sign of life.
func (c *Client) breakSilence() outcome.Outcome {
	c.happened(SilenceProbed, subject{}, 0, "")
	out := c.signOfLife(c.life, c.cfg.nextID(), guard.SilenceProbe)
	if d := out.Record.Judge(c.toolLevel()).Hold; d > 0 {
		c.hold(subject{method: mcp.MethodPing}, c.Breaker(), out.Record, d) // Retry-After is for every request
	}
	return out
}

// fellSilent is what follows when silence has opened the circuit.
func (c *Client) fellSilent() {
	c.leaveQueue(c.Breaker())
	c.happened(Silent, subject{}, 0, "")
}

// heardSince reports whether anything came over a link since it had counted n.
func heardSince(l *link.Link, n uint64) bool {
	counter, ok := l.Conn.(transport.Counter)
	return ok && counter.Received() != n
}
