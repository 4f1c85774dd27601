package toolcache

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"
)

const (
	// DefaultTTL is how long a list is fresh if the server sets no time to live.
	DefaultTTL = 5 * time.Minute
	// DefaultSize is the default of Settings.Size.
	DefaultSize = 128
	// DefaultFetchTimeout is the default of Settings.FetchTimeout.
	DefaultFetchTimeout = 30 * time.Second
	// EnvTTL is the environment variable that [TTLFromEnv] reads.
	EnvTTL = "MCP_TOOL_CACHE_TTL"

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

// Settings configure a [Cache]. The zero value uses the defaults.
type Settings struct {
	// TTL is how long a list is fresh. If it is not 0, it is also an upper limit for the
	// times that servers set. The default is the time that the server sets, or 5 minutes
	// if it sets none. Less than 0 asks the server every time.
	TTL time.Duration
	// Size is the greatest number of lists, one for each [Key]. The cache removes
	// the least recently used list first. 0 means 128. A list has at most 100,000
	// tools, without tools whose schemas exceed 1 MiB. The cache does not limit
	// the bytes of a list; the client of this module limits a fetch to 64 MiB.
	Size int
	// FetchTimeout limits a fetch, however many callers wait for it. 0 means 30 s.
	FetchTimeout time.Duration
	// ExactTTL keeps times to live unchanged. By default the cache subtracts a
	// random part of up to a tenth, so that processes that start together do not
	// ask together.
	ExactTTL bool
	// ServeStale returns an expired list if the fetch fails, for up to an hour
	// after it expired. It does not apply after [Cache.Invalidate] or
	// [ErrRefused]. The [Freshness] of the answer has Stale set.
	ServeStale bool
	// StaleIf selects the errors for which ServeStale applies. nil means all.
	StaleIf func(error) bool
	// Revalidate is how long after its end an expired list is returned while a
	// fetch runs in the background, at most 30 s. It does not apply after
	// [Cache.Invalidate], or if the server asks not to be cached. 0 means that
	// readers wait for the fetch. It applies only to lists of tools.
	Revalidate time.Duration
	// SharePublic shares a list that the server calls public between all
	// partitions of its server and variant. It is off by default, because a server
	// that calls a list public by mistake would then show the tools of one user to
	// another.
	SharePublic bool
	// Durable stores lists of tools beyond this process. nil means that lists end
	// with the process. See [Store].
	Durable Store
	// Logger logs stale answers and errors of Durable. nil logs nothing.
	Logger *slog.Logger
}

// Durable reports whether [Settings.Durable] is set, so that lists outlive this
// process.
func (c *Cache) Durable() bool { return c.set.Durable != nil }

// ServesStale reports whether [Settings.ServeStale] is set, so that stale lists
// and results may replace those that cannot be fetched.
func (c *Cache) ServesStale() bool { return c.set.ServeStale }

// TTL returns how long a list is fresh if the server sets no time to live. 0
// means that every read asks the server.
func (c *Cache) TTL() time.Duration { return c.set.ttl(nil) }

// Validate returns an error for negative values.
func (s Settings) Validate() error {
	var errs []error
	if s.Size < 0 {
		errs = append(errs, fmt.Errorf("tool cache: size %d: use 1 or more, 0 for %d", s.Size, DefaultSize))
	}
	if s.FetchTimeout < 0 {
		errs = append(errs, fmt.Errorf("tool cache: fetch timeout %s: use a positive duration, 0 for %s", s.FetchTimeout, DefaultFetchTimeout))
	}
	if s.Revalidate < 0 || s.Revalidate > maxRevalidate {
		errs = append(errs, fmt.Errorf("tool cache: revalidate %s: use 0 to %s", s.Revalidate, maxRevalidate))
	}
	return errors.Join(errs...)
}

// ttl is how long a list is fresh for which the server asked for hint.
func (s Settings) ttl(hint *time.Duration) time.Duration {
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
func (s Settings) responseTTL(hint *time.Duration) time.Duration {
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
	value, ok := lookup(EnvTTL)
	if !ok || value == "" {
		return 0, false, nil
	}
	bad := fmt.Errorf("%s=%q is not a time to live: write milliseconds (300000) or a duration (5m), 0 to ask the server every time", EnvTTL, value)
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
