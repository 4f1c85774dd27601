package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// list is one server's tools as one partition sees them.
type list struct {
	key     Key
	snap    atomic.Pointer[snapshot]
	epoch   atomic.Uint64
	evicted atomic.Bool
	paced   atomic.Bool // the server said that it has changed, since a fetch began
	refused atomic.Bool // the last answer was that the credentials are
	absence atomic.Pointer[absence]

	mu        sync.Mutex
	flight    *flight                       // the fetch under way, nil when there is none
	began     time.Time                     // when the last fetch did
	announced time.Time                     // when the last fetch began that followed a notification
	misses    *lru.Cache[string, time.Time] // when a refresh last did not bring a name
	doubts    doubts

	shelf *shelf // what is known of the durable store, nil without one
}

// absence is that the server does not have a list.
type absence struct {
	err   error
	epoch uint64
	lease lease
}

func (l *list) fresh(s *snapshot, now time.Time) bool {
	return s != nil && s.epoch == l.epoch.Load() && s.lease.holds(now)
}

// put makes s the list's state, unless the one that is there is of a later
// epoch.
func (l *list) put(s *snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.snap.Load(); old == nil || old.epoch <= s.epoch {
		l.snap.Store(s)
	}
}

// absent is why there is no list to be had for the time being, nil when there
// may be one.
func (l *list) absent(now time.Time) error {
	if a := l.absence.Load(); a != nil && a.epoch == l.epoch.Load() && a.lease.holds(now) {
		return a.err
	}
	return nil
}

// mayRefresh reports whether a refresh for an unknown name is due. While one is
// under way it is: the caller waits for that one.
func (l *list) mayRefresh(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != nil || l.misses == nil {
		return true
	}
	at, ok := l.misses.Get(name)
	return !ok || now.Sub(at) >= missInterval
}

// missed notes that a refresh did not bring the name.
func (l *list) missed(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.misses == nil {
		// The error is for sizes below one only.
		l.misses, _ = lru.New[string, time.Time](maxMisses)
	}
	l.misses.Add(name, now)
}

// read returns the list if it is fresh, or may pass for it while a new one is
// fetched, else a new one. name is what is looked for, "" for nothing.
func (c *Cache) read(ctx context.Context, l *list, fetch Fetch, name string) (*snapshot, toolcache.Freshness, error) {
	s, now := l.snap.Load(), time.Now()
	switch {
	case l.fresh(s, now):
		return s, toolcache.Freshness{Age: s.lease.age(now)}, nil
	case c.mayRevalidate(l, s, now):
		c.join(ctx, l, fetch, s, reading)
		return s, toolcache.Freshness{Stale: true, Age: s.lease.age(now)}, nil
	}
	if err := l.absent(now); err != nil {
		return nil, toolcache.Freshness{}, err
	}
	return c.refresh(ctx, l, fetch, s, name, reading)
}

// mayRevalidate reports whether s may be handed out while another is fetched: it
// ended by age alone, a moment ago.
func (c *Cache) mayRevalidate(l *list, s *snapshot, now time.Time) bool {
	return c.set.Revalidate > 0 && s != nil && s.epoch == l.epoch.Load() &&
		s.lease.ttl > 0 && s.lease.over(now) <= c.set.Revalidate
}

// mayServeStale reports whether s may stand in for a fetch that failed with
// err: it ended by age alone, and not long ago.
func (c *Cache) mayServeStale(l *list, s *snapshot, err error, now time.Time) bool {
	return c.set.ServeStale && s != nil && s.epoch == l.epoch.Load() &&
		s.lease.over(now) <= maxStale && c.mayReplace(err)
}
