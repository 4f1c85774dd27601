package client

import "time"

// eraOptions are the options for finding the era.
type eraOptions struct {
	store EraStore // nil remembers nothing
	probe Probe
}

// Probe configures the probe that finds the era of a server, and what the client concludes
// from its replies. The zero Probe suits servers that follow the protocol.
type Probe struct {
	// Timeout is the head start of the probe: how long the client waits for the answer to
	// server/discover before it sends initialize beside it. The default is
	// 10 s over stdio and other byte streams, and 2 s over HTTP. The head
	// start is at most half of the time that Connect's context has left.
	//
	// After the head start, the first real answer decides; an outage does not. If the
	// server refuses initialize, the client waits for the probe as long as for any
	// request. A slow program is not ended: it has [Restart].StartTimeout to answer
	// anything. Silence is not remembered: the next connection probes again.
	Timeout time.Duration
	// FreshProcess opens a session in a restarted program, whatever the first one
	// answered to the probe, and also if it answered nothing in time. It is for
	// programs that do not work any more after the probe.
	//
	// # Experimental
	FreshProcess bool
	// SilenceIsSession treats a server that does not answer the probe over HTTP in
	// time as one of the session era. Without it, a late answer still counts.
	//
	// # Experimental
	SilenceIsSession bool
	// AuthIsSession treats a server that answers 401 or 403 as one of the
	// session era. Use it for gateways that answer unknown methods that way.
	//
	// # Experimental
	AuthIsSession bool
	// AnyRefusal tries the transport's fallback after any 4xx to initialize except 401
	// and 403. Without it, the client tries that after 400, 404 and 405 only.
	//
	// # Experimental
	AnyRefusal bool
}

// WithProbe configures the probe that finds the era of a server; see [Probe].
func WithProbe(p Probe) Option {
	return optionFunc(func(c *config) { overlay(&c.era.probe, p) })
}
