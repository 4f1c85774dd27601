package cache

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

const (
	// DefaultTTL is how long a list is fresh if the server sets no time to live.
	DefaultTTL = 5 * time.Minute
	// defaultSize and defaultTimeout are the defaults of Settings.
	defaultSize    = 128
	defaultTimeout = 30 * time.Second

	// envTTL is the environment variable that [TTLFromEnv] reads.
	envTTL = "MCP_TOOL_CACHE_TTL"

	// maxTTL limits the TTL of a server.
	maxTTL = 24 * time.Hour
	// maxStale limits how long after it expires a list may be returned instead of an error.
	maxStale = time.Hour
	// maxRevalidate limits how long readers may get an expired list.
	maxRevalidate = 30 * time.Second
	// absentTTL is how long ErrAbsent is cached.
	absentTTL = time.Minute
	// minInterval is the minimum time between two fetches that follow notifications: one for the
	// first notification, and one for all later ones.
	minInterval = time.Second
	// missInterval is the minimum time between two refreshes for one unknown name.
	missInterval = time.Second
	// maxMisses limits the unknown names that a list keeps: models can invent many.
	maxMisses = 256
)

// settings are the application's settings with defaults applied.
type settings toolcache.Settings

// Durable reports whether [toolcache.Settings.Durable] is set, so that lists outlive this
// process.
func (c *Cache) Durable() bool { return c.set.Durable != nil }

// ServesStale reports whether [toolcache.Settings.ServeStale] is set, so that stale lists
// and results may replace those that cannot be fetched.
func (c *Cache) ServesStale() bool { return c.set.ServeStale }

// TTL returns how long a list is fresh if the server sets no time to live. 0
// means that every read asks the server.
func (c *Cache) TTL() time.Duration { return c.set.ttl(nil) }

// Validate returns an error for negative values, and for values that are too large.
func Validate(s toolcache.Settings) error {
	var errs []error
	if s.Size < 0 {
		errs = append(errs, fmt.Errorf("tool cache: size %d: use 1 or more, 0 for %d", s.Size, defaultSize))
	}
	if s.FetchTimeout < 0 {
		errs = append(errs, fmt.Errorf("tool cache: fetch timeout %s: use a positive duration, 0 for %s", s.FetchTimeout, defaultTimeout))
	}
	if s.Revalidate < 0 || s.Revalidate > maxRevalidate {
		errs = append(errs, fmt.Errorf("tool cache: revalidate %s: use 0 to %s", s.Revalidate, maxRevalidate))
	}
	return errors.Join(errs...)
}

// ttl returns how long a list is fresh if the server's TTL is hint.
func (s *settings) ttl(hint *time.Duration) time.Duration {
	limit := max(s.TTL, 0)
	switch {
	case hint == nil && s.TTL != 0:
		return limit
	case hint == nil:
		return DefaultTTL
	}
	asked := min(max(0, *hint), maxTTL)
	if s.TTL != 0 {
		return min(asked, limit)
	}
	return asked
}

// leaseOf returns the lease of a list that has just arrived.
func (c *Cache) leaseOf(hint *time.Duration) lease {
	return newLease(time.Now(), c.set.spread(c.set.ttl(hint)))
}

// responseTTL returns how long a result is cached if the server's TTL is hint. Without a TTL it
// is not cached, since most results are not requested twice.
func (s *settings) responseTTL(hint *time.Duration) time.Duration {
	if hint == nil {
		return 0
	}
	return s.ttl(hint)
}

// TTLFromEnv reads the environment variable MCP_TOOL_CACHE_TTL. An integer is a
// number of milliseconds; any other value is a Go duration, such as 2m or 90s.
// 0 means that every read asks the server. The second result reports whether
// the variable is set and not empty. Pass os.LookupEnv as lookup.
func TTLFromEnv(lookup func(string) (string, bool)) (time.Duration, bool, error) {
	value, ok := lookup(envTTL)
	if !ok || value == "" {
		return 0, false, nil
	}
	bad := fmt.Errorf("%s=%q is not a time to live: write milliseconds (300000) or a duration (5m), 0 to ask the server every time", envTTL, value)
	if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
		if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
			return 0, false, bad
		}
		return time.Duration(ms) * time.Millisecond, true, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, false, bad
	}
	return d, true, nil
}
