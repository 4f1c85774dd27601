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

	// maxTTL bounds what a server may ask for.
	maxTTL = 24 * time.Hour
	// maxStale bounds how long after its end a list may stand in for a failed
	// fetch.
	maxStale = time.Hour
	// maxRevalidate bounds how long readers may be given an expired list.
	maxRevalidate = 30 * time.Second
	// absentTTL is how long it is believed that a server does not have something.
	absentTTL = time.Minute
	// minInterval is how far apart two fetches are, at least, when the server
	// says that a list has changed: one for the first word, one for all that
	// come after it.
	minInterval = time.Second
	// missInterval is how far apart two refreshes for one unknown name are, at
	// least.
	missInterval = time.Second
	// maxMisses is how many unknown names a list remembers; they come from
	// callers and are many when a model makes them up.
	maxMisses = 256
)

// settings are those of the application, with the defaults set.
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

// ttl is how long a list is fresh for which the server asked for hint.
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

// leaseOf is the lease of a list that comes now.
func (c *Cache) leaseOf(hint *time.Duration) lease {
	return newLease(time.Now(), c.set.spread(c.set.ttl(hint)))
}

// responseTTL is how long a result is kept that the server lets be kept for
// hint: never on our own account, since most results are not asked for twice.
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
