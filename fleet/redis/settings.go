package fleetredis

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-mcp/mainstay/internal/callback"
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
	// SigningKeys protect the fleet from others that can use the same Redis. With
	// keys, everything that this node writes is signed (HMAC-SHA256) with the first
	// key, and what is not signed with one of them is refused: hints, leases and
	// lists of tools. Each key is a secret of at least 32 random bytes, the same in
	// all processes. nil signs nothing and accepts what is not signed.
	//
	// Signed hints carry the time: the clocks of the processes must agree within
	// 30 s, or their hints are refused. Processes with keys and processes without
	// refuse each other's hints, and each side behaves as a fleet of its own. To
	// change the key, add the new one at the end everywhere, then move it to the
	// front everywhere, then remove the old one.
	SigningKeys [][]byte
	// Logger gets a line when Redis goes away and comes back, once a minute at
	// most, and one for each reason for which hints are refused. nil logs nothing.
	// Its handler runs on a goroutine of its own.
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
	s.Logger = callback.Logger(s.Logger, nil)
	keys := s.SigningKeys
	s.SigningKeys = nil // a copy: the caller may overwrite its secrets
	for i, key := range keys {
		if len(key) < minKey {
			return s, fmt.Errorf("fleetredis: SigningKeys[%d] has %d bytes: use at least %d random ones", i, len(key), minKey)
		}
		s.SigningKeys = append(s.SigningKeys, bytes.Clone(key))
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
