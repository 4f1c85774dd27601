package client

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"reflect"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Cache is a cache that several clients share; see [CacheConfig].Shared. It is safe for
// concurrent use and needs no Close.
type Cache struct{ kept *cache.Cache }

// NewCache returns an empty cache. It returns an error for invalid settings.
func NewCache(set toolcache.Settings) (*Cache, error) {
	kept, err := cache.New(set)
	if err != nil {
		return nil, err
	}
	return &Cache{kept}, nil
}

// CacheConfig configures the cache of a client: lists of tools with their schemas, and other
// results that the server allows the client to keep. The zero CacheConfig is the default: each
// client has its own cache in memory, Connect fills it, and lists of tools are fresh for 5
// minutes.
type CacheConfig struct {
	// Shared is a cache that several clients use. Clients of one server in the same
	// partition share its answers.
	Shared *Cache
	// Settings configures the client's own cache: times to live, stale answers, a durable
	// store. Without a TTL, the environment variable MCP_TOOL_CACHE_TTL (a number of
	// milliseconds or a Go duration) sets it. Without StaleIf, a stale list is used only
	// while the server cannot be reached, something in front of it answers 429 or 5xx, or
	// the circuit is open. Without a Logger, the client's is used.
	Settings toolcache.Settings
	// Partition names the caller in a cache that is shared or durable: partitions never share
	// answers. Name the credentials, not their secret.
	//
	// The default is a digest of the headers in [transport.HTTP] or [transport.SSE], so
	// that new credentials are a new partition. Set Partition if credentials change while
	// the caller stays the same, or if a RoundTripper or your own transport adds them: the
	// client cannot see those, and puts all such callers into one partition. A durable
	// cache needs Partition if there is a RoundTripper.
	//
	// [AllCallers] means that the server gives all callers the same answers.
	Partition string
	// NoPreload omits the fetch of the tool list at the end of Connect. The client then
	// fetches schemas when [Client.GetToolSchema] needs them, and checks arguments once the
	// schema is known.
	NoPreload bool
	// Pins are the fingerprints that tools must have, by name, as
	// [mcp.Tool.Fingerprint] returns them. For a tool with a different fingerprint the
	// client logs a warning and emits [ToolDrift]. BlockDrift also refuses calls of the
	// tool with a [*PinError], even those of [Client.Call]. Tools without a pin may have
	// any fingerprint: the application decides which tools to trust on first use.
	Pins       map[string]string
	BlockDrift bool
}

// AllCallers is the partition of all callers of a server in [CacheConfig].
const AllCallers = "*"

// WithCache configures the cache of the client; see [CacheConfig].
func WithCache(set CacheConfig) Option {
	return optionFunc(func(c *config) {
		if set.NoPreload {
			c.noPreload = true
		}
		if set.Shared != nil {
			c.cache = set.Shared.kept
		}
		rest := set
		rest.NoPreload, rest.Shared, rest.Pins = false, nil, maps.Clone(set.Pins)
		overlay(&c.caching, rest)
	})
}

// checkCache checks the settings and adds those of the environment.
func (c *config) checkCache() error {
	set := &c.caching.Settings
	switch {
	case c.cache != nil && !reflect.ValueOf(*set).IsZero():
		return errors.New("WithCache: Settings has no effect on a Shared cache; pass them to NewCache")
	case c.cache != nil:
		return nil
	case set.TTL == 0:
		ttl, given, err := cache.TTLFromEnv(os.LookupEnv)
		if err != nil {
			return err
		}
		if given {
			if c.uncommon == theUsual { // which clients share
				own := *theUsual
				c.uncommon = &own
			}
			if c.caching.Settings.TTL = ttl; ttl == 0 {
				c.caching.Settings.TTL = -1
			}
		}
	}
	return cache.Validate(c.cacheSettings(c.logger))
}

// cacheSettings returns the settings of the client's own cache. It logs to log by default.
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

// scopeOf returns the scope of the results that a client of t keeps.
func (c *config) scopeOf(t transport.Transport) (lists.Scope, error) {
	sharing := lists.Sharing{Clients: c.cache != nil}
	switch partition := c.caching.Partition; partition {
	case "":
	case AllCallers:
		sharing.Partition = new(string)
	default:
		sharing.Partition = &partition
	}
	sharing.Durable = c.cache != nil && c.cache.Durable() || c.caching.Settings.Durable != nil
	return lists.NewScope(t, sharing)
}
