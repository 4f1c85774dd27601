package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Option configures a [Pool]. [Open] returns an error for wrong options; none
// panics.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	logger        *slog.Logger
	clientOptions []client.Option
	serverOptions func(name string) []client.Option
	required      []string
	connect       time.Duration
	startup       time.Duration
	limit         int
	min, max      time.Duration // between attempts
	naming        Naming
	onEvent       func(context.Context, Event)
	lookup        func(string) (string, bool)
}

// Defaults of a [Pool].
const (
	DefaultConnectTimeout = 60 * time.Second // a program may have to be compiled first
	defaultStartupWait    = 10 * time.Second
	DefaultConnectLimit   = 16
	defaultMinPause       = time.Second
	defaultMaxPause       = 30 * time.Second
)

// WithClientOptions sets client options for all servers, such as handlers, a logger and
// the options of package otel. Several add up. The options of [WithServerOptions] and
// [Server].Options come after them, and the last one wins where options set the same.
//
// The pool names each client after its server ([client.WithName]) before all of these. So
// an option that sets another name wins, and in WithClientOptions it is the name of all
// servers. The pool itself uses [Server].Name. Events, questions of servers and records of
// a meter carry the name. For handlers of notifications, which do not get it, and for
// credentials of single servers, use WithServerOptions. Values in the options are shared by
// all servers: one breaker opens for all.
func WithClientOptions(opts ...client.Option) Option {
	return optionFunc(func(c *config) { c.clientOptions = append(c.clientOptions, opts...) })
}

// WithServerOptions sets client options for each server. The pool calls f once for
// each name while it opens. Values in the options are shared by the servers that get
// them: one breaker in [client.WithResilience] opens for all.
//
// By default a pool requires no capability of its servers; use
// [client.WithRequiredCapabilities] to require some.
func WithServerOptions(f func(name string) []client.Option) Option {
	return optionFunc(func(c *config) { c.serverOptions = f })
}

// WithRequiredServers names servers without which [Open] fails.
func WithRequiredServers(names ...string) Option {
	return optionFunc(func(c *config) { c.required = append(c.required, names...) })
}

// WithConnectTimeout bounds one attempt to connect to one server, handshake and
// first list of tools included. The default is 60 s.
func WithConnectTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) { c.connect = d })
}

// WithStartupWait sets how long [Open] waits for slow servers once others are
// connected. The default is 10 s. With 0 it waits for the first server and for the
// required ones only.
func WithStartupWait(d time.Duration) Option {
	return optionFunc(func(c *config) { c.startup = d })
}

// WithConnectLimit bounds how many servers the pool connects to at the same time,
// so that not all programs start at once. The default is 16. A server that takes
// longer than 5 s gives its place to the next one and goes on connecting.
func WithConnectLimit(n int) Option {
	return optionFunc(func(c *config) { c.limit = n })
}

// WithReconnect sets the pauses before the pool connects again to a server that is
// down: about minPause at first, twice as long after each failure, maxPause at most. Each
// pause is shortened at random by up to a half. The defaults are 1 s and 30 s.
// With 0 for both the pool connects again only when [Pool.Reconnect] is called.
//
// A Retry-After of the server is obeyed up to 5 minutes. A failure that is unlikely
// to pass, such as a program that does not exist, waits for maxPause at once.
func WithReconnect(minPause, maxPause time.Duration) Option {
	return optionFunc(func(c *config) { c.min, c.max = minPause, maxPause })
}

// WithNaming sets how the tools of the pool are named; see [Naming].
func WithNaming(n Naming) Option {
	return optionFunc(func(c *config) { c.naming = n })
}

// WithLogger makes the pool log which servers connect and fail. The default is
// silence. Clients log with [client.WithLogger] in [WithClientOptions].
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c *config) { c.logger = l })
}

// WithVariables sets how [Load] looks up variables. The default is os.LookupEnv.
// A name with a prefix, such as "input:key", is passed unchanged.
func WithVariables(lookup func(name string) (value string, ok bool)) Option {
	return optionFunc(func(c *config) { c.lookup = lookup })
}

// OnEvent sets a function that is called for each event of the servers, one after
// the other, never under a lock, and not after Close was called. ctx ends with the
// pool. While f runs, events are queued; beyond 1,024 events, or 16 MiB of what
// servers say in them, the oldest are dropped.
func OnEvent(f func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) { c.onEvent = f })
}

func newConfig(opts []Option) (*config, error) {
	c := &config{
		connect: DefaultConnectTimeout, startup: defaultStartupWait, limit: DefaultConnectLimit,
		min: defaultMinPause, max: defaultMaxPause,
	}
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.logger = callback.Logger(c.logger, nil)
	switch {
	case c.connect <= 0:
		return nil, errors.New("WithConnectTimeout: must be above 0")
	case c.startup < 0:
		return nil, errors.New("WithStartupWait: must not be negative")
	case c.limit < 1:
		return nil, errors.New("WithConnectLimit: must be 1 or more")
	case c.min < 0 || c.max < c.min || c.min == 0 && c.max > 0:
		return nil, fmt.Errorf("WithReconnect: %v and %v are no pauses; the second must not be below the first, and 0 for both switches it off", c.min, c.max)
	}
	return c, c.naming.check()
}
