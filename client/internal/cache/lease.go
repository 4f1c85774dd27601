package cache

import (
	"math/rand/v2"
	"time"
)

const (
	// maxDrift is how far the wall clock may get ahead of the monotonic one. The
	// monotonic clock stops while a machine sleeps: beyond this, it has slept, and the
	// client has missed what the server announced.
	maxDrift = 5 * time.Second
	// maxJitter is the part of a time to live that may be cut off at random, so
	// that processes started together do not ask together.
	maxJitter = 0.1
)

// lease is how long something is used without asking for it again. A clock that
// is set back does not matter to it; one that is set forward looks like a
// machine that slept, and costs one fetch.
type lease struct {
	at   time.Time // when it began, by the monotonic clock
	wall int64     // the same by the wall clock, in ns since 1970
	ttl  time.Duration
}

func newLease(now time.Time, ttl time.Duration) lease {
	return lease{at: now, wall: now.UnixNano(), ttl: ttl}
}

// since is the lease of something that came a while before it was found.
func (l lease) since(age time.Duration) lease {
	l.at, l.wall = l.at.Add(-age), l.wall-int64(age)
	return l
}

// holds reports whether it has not ended.
func (l *lease) holds(now time.Time) bool {
	age := now.Sub(l.at)
	return age < l.ttl && now.UnixNano()-l.wall-int64(age) <= int64(maxDrift)
}

// age is how long ago it began, sleep included.
func (l *lease) age(now time.Time) time.Duration {
	age, slept := now.Sub(l.at), time.Duration(now.UnixNano()-l.wall)
	if slept-age > maxDrift {
		return slept
	}
	return age
}

// over is how long ago it ended, 0 while it holds.
func (l *lease) over(now time.Time) time.Duration { return max(0, l.age(now)-l.ttl) }

// shortened cuts up to a tenth off a time to live; part is from [0, 1).
func shortened(ttl time.Duration, part float64) time.Duration {
	return ttl - time.Duration(float64(ttl)*maxJitter*part)
}

// spread is shortened by chance, unless times are to be exact.
func (s *settings) spread(ttl time.Duration) time.Duration {
	if s.ExactTTL {
		return ttl
	}
	return shortened(ttl, rand.Float64()) //nolint:gosec // no secret: it keeps clients apart
}
