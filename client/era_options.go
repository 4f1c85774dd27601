package client

import (
	"errors"
	"time"
)

// eraOptions is what the options say about finding out the era.
type eraOptions struct {
	verdicts VerdictStore // nil remembers nothing
	timeout  time.Duration
	policy   ProbePolicy
}

func (o eraOptions) check() error {
	if o.timeout < 0 {
		return errors.New("WithProbeTimeout: a timeout must not be negative; 0 is the default")
	}
	return nil
}

// DefaultProbeTimeout is how long a server over stdio has to answer the probe
// (decisions 12).
const DefaultProbeTimeout = 10 * time.Second

// WithProbeTimeout bounds the wait for the answer to the probe, the
// server/discover that finds out the era; 0 means [DefaultProbeTimeout]. A
// program that says nothing for so long is taken for one of the session era and
// started anew. Half of what is left of Connect's context is a bound too, so
// that the rest suffices for a session.
//
// Over HTTP silence is an outage: without this option the probe waits there as
// long as any request.
func WithProbeTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.era.timeout = d })
}

// ProbePolicy changes how replies to the probe are judged, for servers and
// gateways that do not behave. The zero policy is right for all that do.
type ProbePolicy struct {
	// FreshProcess begins a session in a program started anew whatever it
	// answered to the probe, for programs that remember the probe against us.
	FreshProcess bool
	// SilenceIsSession takes a server over HTTP that does not answer the probe
	// in time for one of the session era.
	SilenceIsSession bool
	// AuthIsSession takes 401 and 403 for the session era, for gateways that
	// answer so to methods they do not know.
	AuthIsSession bool
	// AnyRefusal tries [transport.Fallback] after any 4xx to initialize but 401
	// and 403, not after 400, 404 and 405 only.
	AnyRefusal bool
}

// WithProbePolicy sets how replies to the probe are judged.
func WithProbePolicy(p ProbePolicy) Option {
	return optionFunc(func(c *config) { c.era.policy = p })
}
