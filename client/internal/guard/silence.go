package guard

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/watchdog"
)

// silence returns the watchdog, nil before the first request that it watches.
func (g *Gate) silence() *watchdog.Watchdog {
	if h := g.made.Peek(); h != nil {
		return h.silence.Peek()
	}
	return nil
}

func (g *Gate) newSilence() *watchdog.Watchdog {
	h := g.parts()
	return h.silence.Make(func() *watchdog.Watchdog {
		return watchdog.New(&watchdog.Config{
			Core: h.Core, After: g.set.Silence, Breaker: g.Breaker(), InFlight: &g.inFlight, Host: (*host)(g),
		}, time.Now())
	})
}

// Busy reports whether the server is processing a request that it has read from the pipe of l,
// and may therefore not answer another one.
func (g *Gate) Busy(l *link.Link) bool { return g.silence().Busy(l) }

// host is the Gate as the [watchdog.Host].
type host Gate

// Probe implements [watchdog.Host].
func (h *host) Probe() outcome.Outcome {
	g := (*Gate)(h)
	g.Report(SilenceProbed, outcome.Subject{}, 0, "")
	p := g.parts()
	out := p.Ping(p.Life.Context(), watchdog.ProbeTime)
	g.ObeyRetryAfter(ping, out.Record) // it applies to every request
	return out
}

// ThrottledFor implements [watchdog.Host].
func (h *host) ThrottledFor() time.Duration { return (*Gate)(h).Throttle().Left() }

// Silent implements [watchdog.Host].
func (h *host) Silent() {
	g := (*Gate)(h)
	g.emptyQueue(g.Breaker())
	g.Report(Silent, outcome.Subject{}, 0, "")
}

// Stuck implements [watchdog.Host]: a program that no longer reads is restarted.
func (h *host) Stuck(cause error) {
	p := (*Gate)(h).parts()
	p.Keeper.Peek().Kill(p.Links.Load(), cause)
}

// LateAnswers implements [watchdog.Host].
func (h *host) LateAnswers(n int) {
	if g := (*Gate)(h); g.metered {
		g.parts().Signal(Signal{Kind: LateAnswers, Count: n})
	}
}
