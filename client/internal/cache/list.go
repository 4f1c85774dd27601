package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// list is the tool list of one server for one partition.
type list struct {
	key     Key
	snap    atomic.Pointer[snapshot]
	epoch   atomic.Uint64
	evicted atomic.Bool
	paced   atomic.Bool // the server reported a change since the last fetch began
	refused atomic.Bool // the server's last answer refused the credentials
	absence atomic.Pointer[absence]

	mu        sync.Mutex
	flight    *flight                       // fetch in flight, nil for none
	began     time.Time                     // start of the last fetch
	announced time.Time                     // start of the last fetch after a notification
	misses    *lru.Cache[string, time.Time] // when a refresh last did not find a name
	doubts    doubts

	shelf *shelf // state of the durable store, nil for none
}

// absence records that the server does not have a list.
type absence struct {
	err   error
	epoch uint64
	lease lease
}

func (l *list) fresh(s *snapshot, now time.Time) bool {
	return s != nil && s.epoch == l.epoch.Load() && s.lease.holds(now)
}

// put stores s, unless the present snapshot is of a later epoch.
func (l *list) put(s *snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.snap.Load(); old == nil || old.epoch <= s.epoch {
		l.snap.Store(s)
	}
}

// absent returns why the server has no list at present, nil if it may have one.
func (l *list) absent(now time.Time) error {
	if a := l.absence.Load(); a != nil && a.epoch == l.epoch.Load() && a.lease.holds(now) {
		return a.err
	}
	return nil
}

// mayRefresh reports whether an unknown name may cause a refresh. It may while one is in flight:
// the caller then waits for that one.
func (l *list) mayRefresh(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != nil || l.misses == nil {
		return true
	}
	at, ok := l.misses.Get(name)
	return !ok || now.Sub(at) >= missInterval
}

// missed records that a refresh did not find the name.
func (l *list) missed(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.misses == nil {
		// The error is only for sizes below one.
		l.misses, _ = lru.New[string, time.Time](maxMisses)
	}
	l.misses.Add(name, now)
}

// read returns the list if it is fresh, or a stale one if it may be used while a new one is
// fetched, else a new one. name is the wanted tool, "" for none.
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

// mayRevalidate reports whether s may be returned while a new list is fetched: it has only
// expired, and recently.
func (c *Cache) mayRevalidate(l *list, s *snapshot, now time.Time) bool {
	return c.set.Revalidate > 0 && s != nil && s.epoch == l.epoch.Load() &&
		s.lease.ttl > 0 && s.lease.over(now) <= c.set.Revalidate
}

// mayServeStale reports whether s may be returned instead of err: it has only expired, and not
// long ago.
func (c *Cache) mayServeStale(l *list, s *snapshot, err error, now time.Time) bool {
	return c.set.ServeStale && s != nil && s.epoch == l.epoch.Load() &&
		s.lease.over(now) <= maxStale && c.mayReplace(err)
}
