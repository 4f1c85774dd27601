package fleetredis

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// DefaultPrefix begins every key and the channel. The braces keep a fleet
	// on one node of a Redis Cluster, which its scripts need.
	DefaultPrefix = "mainstay:{fleet}:"
	// DefaultTimeout bounds one exchange with Redis.
	DefaultTimeout = 50 * time.Millisecond
)

// Settings say where Redis is and who this node is.
type Settings struct {
	// Redis is where Redis is and how to log in: Addrs, Username, Password,
	// TLSConfig, Dialer and what a cluster or sentinels need. Timeouts, pool and
	// retries are the fleet's own.
	Redis redis.UniversalOptions
	// Node names this process among the others: printable ASCII without spaces,
	// up to 128 bytes, different in every process. "" makes a random name. Give
	// one that stays the same when the process is started again, such as a
	// pod's: else one that crashes and comes back looks like another node until
	// the first has been away for 30 s, and its reports count twice.
	Node string
	// Prefix begins every key; fleets with different ones do not meet. "" means
	// [DefaultPrefix]. With Redis Cluster it needs braces.
	Prefix string
	// Timeout bounds one exchange with Redis, 0 means 50 ms. Calls never wait
	// for it; it is how old a hint may get.
	Timeout time.Duration
	// Logger is told when Redis goes away and comes back, once a minute at most.
	// nil logs nothing.
	Logger *slog.Logger
}

func (s Settings) complete() (Settings, error) {
	if s.Node == "" {
		s.Node = rand.Text()
	}
	if s.Prefix == "" {
		s.Prefix = DefaultPrefix
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(s.Redis.Addrs) == 0:
		return s, errors.New("fleetredis: Settings.Redis needs Addrs")
	case !isName(s.Node):
		return s, fmt.Errorf("fleetredis: the node's name %q must be 1 to %d printable bytes without spaces", s.Node, maxName)
	case !isName(s.Prefix):
		return s, fmt.Errorf("fleetredis: the prefix %q must be 1 to %d printable bytes without spaces", s.Prefix, maxName)
	case s.Timeout < 0:
		return s, fmt.Errorf("fleetredis: timeout %s: use a positive duration, 0 for %s", s.Timeout, DefaultTimeout)
	}
	return s, nil
}
