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
	// DefaultTTL is how long a list is fresh when nobody says.
	DefaultTTL = 5 * time.Minute
	// DefaultSize is how many lists a cache keeps.
	DefaultSize = 128
	// DefaultFetchTimeout bounds one walk over all pages of a list.
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
	// least (decisions 28).
	missInterval = time.Second
	// maxMisses is how many unknown names a list remembers; they come from
	// callers and are many when a model makes them up.
	maxMisses = 256
)

// Settings configure a [Cache]. The zero value works.
type Settings struct {
	// TTL is how long a list is fresh. Given, by a value above zero or by
	// TTLSet, it is an upper bound for what servers ask for; else it is 5
	// minutes for servers that ask for nothing. With TTLSet, 0 means that
	// every read asks the server.
	TTL    time.Duration
	TTLSet bool
	// Size is how many lists are kept, one for each [Key]; the ones not used
	// for longest go first. 0 means 128. A list has 100,000 tools at most, and a
	// tool whose schemas are larger than 1 MiB is left out. The cache does not bound
	// the bytes of a list: that is up to what fetches it, which for a client of
	// this module is 64 MiB, also for pages without end.
	Size int
	// FetchTimeout bounds one fetch, whoever waits for it. 0 means 30 s.
	FetchTimeout time.Duration
	// ExactTTL keeps times to live as they are. Else up to a tenth is cut off
	// each at random, so that processes started together do not ask together.
	ExactTTL bool
	// ServeStale answers a read with the expired list when the fetch fails,
	// for an hour after its end at most, and never after [Cache.Invalidate] or
	// an [ErrRefused]. [Freshness] tells.
	ServeStale bool
	// StaleIf says which errors of a fetch ServeStale is for; nil means all.
	StaleIf func(error) bool
	// Revalidate answers reads with an expired list for so long after its end,
	// 30 s at most, and fetches beside them; never after [Cache.Invalidate], nor
	// where the server wants to be asked each time. 0 switches it off, and then
	// an expired list is waited for. It is for lists of tools only.
	Revalidate time.Duration
	// SharePublic lets a list that the server calls public be used for all
	// partitions of its server and variant. A server that calls a list public by
	// mistake shows one user's tools to another then, so it is off by default.
	SharePublic bool
	// Durable keeps lists of tools beyond this process; nil means that nothing
	// does. See [Store].
	Durable Store
	// Logger gets stale answers and faults of Durable; nil is silence.
	Logger *slog.Logger
}

// Durable reports whether lists outlive this process ([Settings.Durable]).
func (c *Cache) Durable() bool { return c.set.Durable != nil }

// ServesStale reports whether old lists and results may stand in for ones that
// cannot be fetched ([Settings.ServeStale]).
func (c *Cache) ServesStale() bool { return c.set.ServeStale }

// TTL is how long a list is fresh for which the server names no time; 0 means that
// every read asks the server.
func (c *Cache) TTL() time.Duration { return c.set.ttl(nil) }

// Validate reports values below zero.
func (s Settings) Validate() error {
	var errs []error
	if s.TTL < 0 {
		errs = append(errs, fmt.Errorf("tool cache: TTL %s: use a positive duration, or 0 to ask the server every time", s.TTL))
	}
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
	explicit := s.TTLSet || s.TTL > 0
	switch {
	case hint == nil && explicit:
		return s.TTL
	case hint == nil:
		return DefaultTTL
	}
	asked := min(max(0, *hint), maxTTL)
	if explicit {
		return min(asked, s.TTL)
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

// TTLFromEnv reads MCP_TOOL_CACHE_TTL: an integer is milliseconds, else a Go
// duration (2m, 90s); 0 means that every read asks the server. The second
// result tells whether it is set; an empty value counts as not set. lookup is
// os.LookupEnv.
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
