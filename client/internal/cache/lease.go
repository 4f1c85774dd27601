package cache

import (
	"math/rand/v2"
	"time"
)

const (
	// maxDrift is how far the wall clock may get ahead of the monotonic clock, which stops while
	// a machine sleeps. If it is more, the machine has slept, and the client has missed
	// notifications.
	maxDrift = 5 * time.Second
	// maxJitter is the fraction by which a TTL may be shortened at random, so that processes that
	// started together do not ask together.
	maxJitter = 0.1
)

// lease is a time during which a value is used without asking again. Setting the clock back has
// no effect. Setting it forward looks like a sleeping machine, and costs one fetch.
type lease struct {
	at   time.Time // start by the monotonic clock
	wall int64     // start by the wall clock, in ns since 1970
	ttl  time.Duration
}

func newLease(now time.Time, ttl time.Duration) lease {
	return lease{at: now, wall: now.UnixNano(), ttl: ttl}
}

// since returns the lease of a value that is already age old.
func (l lease) since(age time.Duration) lease {
	l.at, l.wall = l.at.Add(-age), l.wall-int64(age)
	return l
}

// holds reports whether the lease has not ended.
func (l *lease) holds(now time.Time) bool {
	age := now.Sub(l.at)
	return age < l.ttl && now.UnixNano()-l.wall-int64(age) <= int64(maxDrift)
}

// age returns the time since the start, including sleep.
func (l *lease) age(now time.Time) time.Duration {
	age, slept := now.Sub(l.at), time.Duration(now.UnixNano()-l.wall)
	if slept-age > maxDrift {
		return slept
	}
	return age
}

// over returns the time since the end, 0 before the end.
func (l *lease) over(now time.Time) time.Duration { return max(0, l.age(now)-l.ttl) }

// shortened shortens a TTL by up to a tenth; part is from [0, 1).
func shortened(ttl time.Duration, part float64) time.Duration {
	return ttl - time.Duration(float64(ttl)*maxJitter*part)
}

// spread shortens a TTL at random, unless TTLs are exact.
func (s *settings) spread(ttl time.Duration) time.Duration {
	if s.ExactTTL {
		return ttl
	}
	return shortened(ttl, rand.Float64()) //nolint:gosec // no security: it spreads load
}
