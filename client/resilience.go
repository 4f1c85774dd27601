package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// Resilience is how a client keeps a bad server from hurting its application.
// What is left out is off, so begin with [DefaultResilience], which is what a
// client has without options.
type Resilience struct {
	// Breaker guards the server; nil means none. Sharing follows the pointer:
	// one breaker in two clients opens for both.
	Breaker *breaker.Breaker
	// IdleTimeout is how long nothing may come for a request; progress starts
	// it anew. MaxTime bounds a call, with all its attempts and rounds. 0
	// means no bound but the caller's context.
	IdleTimeout, MaxTime time.Duration
	// MaxInFlight is how many requests may wait for answers; one more is
	// refused at once. 0 means no bound.
	MaxInFlight int
}

// Defaults of [DefaultResilience] (decisions 26, 27).
const (
	DefaultIdleTimeout = 60 * time.Second
	DefaultMaxTime     = 10 * time.Minute
	DefaultMaxInFlight = 10_000
)

// DefaultResilience returns deadlines, a limit on requests in flight and a
// fresh breaker. A client without options has the same, with a breaker that is
// named after its server and logs to its logger.
func DefaultResilience() Resilience {
	r := defaultBounds
	r.Breaker = breaker.New(breaker.Settings{})
	return r
}

// defaultBounds is the part of [DefaultResilience] that clients share: a breaker
// each has to itself.
var defaultBounds = Resilience{IdleTimeout: DefaultIdleTimeout, MaxTime: DefaultMaxTime, MaxInFlight: DefaultMaxInFlight}

// Breaker returns the breaker that guards the server, nil when it was switched
// off. See [breaker.Handler] for a health endpoint.
func (c *Client) Breaker() *breaker.Breaker {
	if !c.cfg.ownBreaker {
		return c.res.Breaker
	}
	return c.guard.made(func() *breaker.Breaker {
		return breaker.New(breaker.Settings{Name: c.server, Logger: c.log})
	})
}

// breaker is the breaker for an attempt, nil for none. A handshake does not make
// the client's own: it would tell a new breaker nothing that Connect does not
// tell the application.
func (c *Client) breaker(handshake bool) *breaker.Breaker {
	if handshake && c.sup.peek() != nil {
		return nil // the start of a program is a probe, on a schedule of its own (resilience.md 3.5)
	}
	if handshake && c.cfg.ownBreaker {
		return c.guard.peek()
	}
	return c.Breaker()
}

func (r Resilience) check() error {
	if r.IdleTimeout < 0 || r.MaxTime < 0 || r.MaxInFlight < 0 {
		return errors.New("resilience: timeouts and limits must not be negative; 0 switches one off")
	}
	return nil
}
