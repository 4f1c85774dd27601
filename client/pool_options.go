package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// PoolOption sets up a [Pool]. Wrong options fail in [OpenPool], none panics.
type PoolOption interface{ applyPool(*poolConfig) }

type poolOptionFunc func(*poolConfig)

func (f poolOptionFunc) applyPool(c *poolConfig) { f(c) }

type poolConfig struct {
	logger        *slog.Logger
	serverOptions func(name string) []Option
	required      []string
	connect       time.Duration
	startup       time.Duration
	limit         int
	first, most   time.Duration
	naming        ToolNaming
	onEvent       func(context.Context, PoolEvent)
	lookup        func(string) (string, bool)
}

// Defaults of a [Pool].
const (
	DefaultServerTimeout = 60 * time.Second // a child's first answer
	DefaultStartupWait   = 10 * time.Second
	DefaultConnectLimit  = 16
	DefaultRetryFirst    = time.Second
	DefaultRetryMost     = time.Minute
)

// WithServerOptions gives each server a policy of its own: f is asked once for
// each, by name, when the pool is opened. What options share, all servers share
// that get them: one [breaker.Breaker] in [WithResilience] opens for all.
//
// A server of a pool needs no capability unless [WithRequiredCapabilities] says so.
// Transports are the pool's: [WithHTTP] and [WithCommand] are refused.
func WithServerOptions(f func(name string) []Option) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.serverOptions = f })
}

// WithRequiredServers names servers without which [OpenPool] fails.
func WithRequiredServers(names ...string) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.required = append(c.required, names...) })
}

// WithServerTimeout bounds one try to connect to one server, with all that belongs
// to it; the default is 60 s.
func WithServerTimeout(d time.Duration) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.connect = d })
}

// WithStartupWait is how long [OpenPool] waits for slow servers once others are
// there; the default is 10 s. 0 does not wait longer than for the first, and for
// the required ones.
func WithStartupWait(d time.Duration) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.startup = d })
}

// WithConnectLimit is how many servers are connected to at a time, so that not all
// programs start at once; the default is 16. A server that takes longer than 5 s
// gives its place to the next, and is waited for all the same.
func WithConnectLimit(n int) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.limit = n })
}

// WithReconnect says how soon a server that is away is tried again: after about
// first, then twice that and so on, most at most, each wait shortened at random by
// up to a half. A server that says when to come back is obeyed (5 minutes at most),
// and what is unlikely to help, such as starting a program that is not there,
// waits for most at once. The default is 1 s and 1 minute; 0 for both tries only
// when [Pool.Reconnect] asks.
func WithReconnect(first, most time.Duration) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.first, c.most = first, most })
}

// WithToolNaming says what tools are called; see [ToolNaming].
func WithToolNaming(n ToolNaming) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.naming = n })
}

// WithPoolLogger makes the pool log servers that come and go. Clients log by
// options of their own ([WithServerOptions]).
func WithPoolLogger(l *slog.Logger) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.logger = l })
}

// WithVariables sets where [LoadPool] looks variables up; the default is
// [os.LookupEnv]. Names with a word and a colon before them, such as "input:key",
// come as they are.
func WithVariables(lookup func(name string) (value string, ok bool)) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.lookup = lookup })
}

// OnPoolEvent is called for everything that happens to the servers, one after the
// other, never under a lock and not once Close has been called. ctx ends with
// the pool. While a handler runs, events are queued; beyond 1,024 events, or 16 MiB of
// what servers say in them, the oldest are dropped.
func OnPoolEvent(f func(ctx context.Context, e PoolEvent)) PoolOption {
	return poolOptionFunc(func(c *poolConfig) { c.onEvent = f })
}

func newPoolConfig(opts []PoolOption) (*poolConfig, error) {
	c := &poolConfig{
		logger: silence, connect: DefaultServerTimeout, startup: DefaultStartupWait,
		limit: DefaultConnectLimit, first: DefaultRetryFirst, most: DefaultRetryMost,
	}
	for _, o := range opts {
		if o != nil {
			o.applyPool(c)
		}
	}
	if c.logger == nil {
		c.logger = silence
	}
	c.logger = callback.Logger(c.logger, nil)
	switch {
	case c.connect <= 0:
		return nil, errors.New("WithServerTimeout: must be above 0")
	case c.startup < 0:
		return nil, errors.New("WithStartupWait: must not be negative")
	case c.limit < 1:
		return nil, errors.New("WithConnectLimit: must be 1 or more")
	case c.first < 0 || c.most < c.first || c.first == 0 && c.most > 0:
		return nil, fmt.Errorf("WithReconnect: %v and %v are no waits; most must not be below first, and 0 for both switches it off", c.first, c.most)
	}
	return c, c.naming.check()
}
