package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
)

// eraOptions is what the options say about finding out the era.
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

// WithProbeTimeout sets how long the probe, the server/discover that finds out the
// era, is waited for before initialize is sent beside it. 0 is the default:
// [DefaultProbeTimeout] over stdio and other byte streams, 2 s over HTTP. Half of
// what is left of Connect's context is a bound too.
//
// Then the first real answer decides; an outage does not. Where initialize is
// refused, the probe is waited for as long as any request. A program is not ended
// for being slow: it has [Restart].StartTimeout to answer anything. That a server
// was silent is not remembered: the next connection probes again.
func WithProbeTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.era.timeout = d })
}

// ProbePolicy changes how replies to the probe are judged, for servers and
// gateways that do not behave. The zero policy is right for all that do.
type ProbePolicy struct {
	// FreshProcess begins a session in a program that is started again, whatever
	// the first one answered to the probe, also when it answered nothing in time:
	// for programs that do not work any more after the probe.
	FreshProcess bool
	// SilenceIsSession gives up a probe over HTTP that is not answered in time,
	// and takes the server for one of the session era. Without it a late answer to
	// the probe still counts.
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
