package client

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"reflect"

	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CacheConfig sets up the cache of a client: lists of tools with their schemas, and what else
// the server lets be kept. The zero CacheConfig is what a client has without options: a cache
// of its own in memory, filled by Connect, whose lists of tools are fresh for 5 minutes.
type CacheConfig struct {
	// Shared is a cache that several clients use. Clients of one server share what it
	// answers where they are in the same partition.
	Shared *toolcache.Cache
	// Settings sets up the client's own cache: times to live, stale answers, a durable
	// store. Without a TTL, the environment variable MCP_TOOL_CACHE_TTL (a number of
	// milliseconds or a Go duration) sets it. Without StaleIf, a stale list is used only
	// while the server cannot be reached, something in front of it answers 429 or 5xx, or
	// the circuit is open. Without a Logger, the client's is used.
	Settings toolcache.Settings
	// Partition names the caller in a cache that is shared or durable: an answer to one
	// partition is never given to another. Name the credentials, not their secret.
	//
	// The default is a digest of the headers in [transport.HTTP] or [transport.SSE], so
	// that new credentials are a new partition. Set Partition where credentials are
	// renewed while the caller stays the same, and where a RoundTripper or a transport of
	// your own adds them: the client cannot see those, and puts all such callers into one
	// partition. A durable cache refuses a RoundTripper without Partition.
	Partition string
	// Public says that the server answers all callers alike: they are in one partition.
	Public bool
	// NoPreload leaves out the walk of tools/list at the end of Connect. Schemas are
	// then fetched when [Client.GetToolSchema] asks, and arguments are checked once they
	// are known.
	NoPreload bool
	// Pins are the fingerprints that tools must have, by name, as
	// [mcp.Tool.Fingerprint] returns them. PinPolicy says what happens to a tool with
	// another one. Tools without a pin may have any: what to trust on first use is for
	// the application to decide.
	Pins      map[string]string
	PinPolicy PinPolicy
}

// WithCache sets up the cache of the client; see [CacheConfig].
func WithCache(set CacheConfig) Option {
	return optionFunc(func(c *config) {
		if set.NoPreload {
			c.noPreload = true
		}
		if set.Shared != nil {
			c.cache = set.Shared
		}
		rest := set
		rest.NoPreload, rest.Shared, rest.Pins = false, nil, maps.Clone(set.Pins)
		overlay(&c.caching, rest)
	})
}

// checkCache puts in what the environment sets.
func (c *config) checkCache() error {
	set := &c.caching.Settings
	switch {
	case c.caching.Public && c.caching.Partition != "":
		return errors.New("WithCache: a partition is named, and Public says that there is one for all; set one of the two")
	case c.cache != nil && !reflect.ValueOf(*set).IsZero():
		return errors.New("WithCache: Settings has no effect on a Shared cache; set that one up where it is made")
	case c.cache != nil:
		return nil
	case set.TTL == 0:
		ttl, given, err := toolcache.TTLFromEnv(os.LookupEnv)
		if err != nil {
			return err
		}
		if given {
			c.ownUncommon()
			if c.caching.Settings.TTL = ttl; ttl == 0 {
				c.caching.Settings.TTL = -1
			}
		}
	}
	return c.cacheSettings(c.logger).Validate()
}

// cacheSettings are those of a cache of the client's own. It logs to log by default.
func (c *config) cacheSettings(log *slog.Logger) toolcache.Settings {
	s := c.caching.Settings
	if s.StaleIf == nil {
		s.StaleIf = lists.Unreachable
	}
	if s.Logger == nil {
		s.Logger = log
	}
	return s
}

// ownUncommon gives the client a copy of what clients share that set nothing uncommon.
func (c *config) ownUncommon() {
	if c.uncommon == theUsual {
		own := *theUsual
		c.uncommon = &own
	}
}

// scopeOf returns the scope of what a client of t keeps.
func (c *config) scopeOf(t transport.Transport) (lists.Scope, error) {
	sharing := lists.Sharing{Clients: c.cache != nil}
	if c.caching.Public || c.caching.Partition != "" {
		sharing.Partition = &c.caching.Partition
	}
	sharing.Durable = c.cache != nil && c.cache.Durable() || c.caching.Settings.Durable != nil
	return lists.NewScope(t, sharing)
}
