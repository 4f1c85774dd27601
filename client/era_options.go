package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
)

// eraOptions is what the options say about finding the era.
type eraOptions struct {
	store   EraStore // nil remembers nothing
	timeout time.Duration
	policy  ProbePolicy
}

func (o eraOptions) check() error {
	if o.timeout < 0 {
		return errors.New("WithProbeTimeout: a timeout must not be negative; 0 is the default")
	}
	return nil
}

// DefaultProbeTimeout is the head start of the probe over stdio: 10 s.
const DefaultProbeTimeout = era.DefaultProbeTimeout

// WithProbeTimeout sets the head start of the era probe: how long the client waits
// for the answer to server/discover before it sends initialize beside it. 0 is the
// default: [DefaultProbeTimeout] over stdio and other byte streams, 2 s over HTTP.
// The head start is at most half of the time that Connect's context has left.
//
// After the head start, the first real answer decides; an outage does not. If the
// server refuses initialize, the client waits for the probe as long as for any
// request. A slow program is not ended: it has [Restart].StartTimeout to answer
// anything. Silence is not remembered: the next connection probes again.
func WithProbeTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.era.timeout = d })
}

// ProbePolicy changes what the client concludes from replies to the era probe, for
// servers and gateways that violate the protocol. The zero policy is right for all
// others.
type ProbePolicy struct {
	// FreshProcess opens a session in a restarted program, whatever the first one
	// answered to the probe, and also if it answered nothing in time. It is for
	// programs that do not work any more after the probe.
	FreshProcess bool
	// SilenceIsSession treats a server that does not answer the probe over HTTP in
	// time as one of the session era. Without it, a late answer still counts.
	SilenceIsSession bool
	// AuthIsSession treats a server that answers 401 or 403 as one of the session
	// era, for gateways that answer unknown methods so.
	AuthIsSession bool
	// AnyRefusal tries [transport.Fallback] after any 4xx to initialize except 401
	// and 403. Without it, the client tries that after 400, 404 and 405 only.
	AnyRefusal bool
}

// WithProbePolicy sets what the client concludes from replies to the era probe.
func WithProbePolicy(p ProbePolicy) Option {
	return optionFunc(func(c *config) { c.era.policy = p })
}
