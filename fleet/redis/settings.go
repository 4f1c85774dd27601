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

// Settings configure this node and its connection to Redis.
type Settings struct {
	// Redis configures the connection: Addrs, Username, Password, TLSConfig,
	// Dialer, and the options of a cluster or sentinels. The fleet sets
	// timeouts, pool and retries itself.
	Redis redis.UniversalOptions
	// Node names this process: printable ASCII without spaces, up to 128 bytes,
	// different in every process. "" makes a random name. Set a name that
	// survives restarts, such as that of a pod. Otherwise a restarted process
	// counts as another node, and its reports count twice until the old node
	// has been silent for 30 s.
	Node string
	// Prefix begins every key. Fleets with different prefixes are separate. ""
	// means [DefaultPrefix]. With Redis Cluster it needs braces.
	Prefix string
	// Timeout bounds one exchange with Redis; 0 means 50 ms. Calls never wait
	// for it, but hints can be that late.
	Timeout time.Duration
	// SigningKeys protect the fleet from other users of the same Redis. With
	// keys, the node signs everything it writes (HMAC-SHA256) with the first
	// key. It refuses hints, leases and lists of tools that are not signed with
	// one of the keys. Each key is a secret of at least 32 random bytes, the
	// same in all processes. nil signs nothing and accepts unsigned data.
	//
	// Signed hints carry the time. The clocks of the processes must agree
	// within 30 s, or their hints are refused. Processes with and without keys
	// refuse each other's hints and form separate fleets. To change the key,
	// append the new one in all processes, then move it to the front in all,
	// then remove the old one.
	SigningKeys [][]byte
	// Logger reports when Redis becomes unavailable or available, at most once
	// a minute, and each reason for refused hints once. nil logs nothing. Its
	// handler runs on its own goroutine.
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
