package cache

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// confirmInterval is the minimum time between two confirming fetches of a list: models invent
// names and arguments frequently.
const confirmInterval = 10 * time.Second

// Confirm returns the tool as the server lists it now. Use it if there is a
// reason to doubt the cached list: arguments or results that do not match it,
// or a name that it does not have.
//
// Confirm asks the server even if the list is fresh, but at most once in ten
// seconds. Within that time it returns the result or the error of the last
// Confirm. A list that another caller fetched counts from the start of its
// fetch; a list from the [toolcache.Store] never counts. For an unknown name Confirm asks
// again after a second. The errors are those of [Cache.Get]. A stale list does
// not count as a confirmation. The tool is a copy whose schemas, annotations
// and icons are shared.
func (c *Cache) Confirm(ctx context.Context, key Key, name string, fetch Fetch) (*mcp.Tool, error) {
	s, err := c.confirmed(ctx, c.obtain(key), name, fetch)
	if err != nil {
		return nil, err
	}
	tool := *s.index[name]
	return &tool, nil
}

// confirmed returns a confirmed list that has the name.
func (c *Cache) confirmed(ctx context.Context, l *list, name string, fetch Fetch) (*snapshot, error) {
	s, now := l.snap.Load(), time.Now()
	fresh, known := l.fresh(s, now), s != nil && s.index[name] != nil
	if fresh && !known && (s.large[name] > 0 || !l.mayRefresh(name, now)) {
		return nil, s.missing(name)
	}
	switch recent, err := l.recently(now); {
	case err != nil:
		return nil, err
	case recent && fresh && known:
		return s, nil
	}
	if err := l.absent(now); err != nil {
		return nil, err
	}
	s, st, err := c.refresh(ctx, l, fetch, s, name, confirming)
	switch {
	case err != nil:
		return nil, err
	case st.Stale:
		return nil, st.Cause
	case s.index[name] == nil:
		l.missed(name, time.Now())
		return nil, s.missing(name)
	}
	return s, nil
}

// Renew fetches an expired list in the background and returns at once. Use it
// while tools are in use without a read of the list. It does nothing if there
// is no list, or if the last fetch began less than ten seconds ago.
func (c *Cache) Renew(ctx context.Context, key Key, fetch Fetch) {
	l, now := c.obtain(key), time.Now()
	if s := l.snap.Load(); s != nil && !l.fresh(s, now) && l.absent(now) == nil && l.rested(now) {
		c.join(ctx, l, fetch, s, reading)
	}
}

// rested reports whether no fetch has begun recently.
func (l *list) rested(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flight == nil && now.Sub(l.began) >= confirmInterval
}

// doubts records when a list was last confirmed, and when a fetch last failed. The mutex of the
// list guards it.
type doubts struct {
	confirmed, failed time.Time
	err               error
	epoch             uint64 // epoch of the failure
}

// recently reports whether a list was confirmed recently. It returns an error if that failed
// recently.
func (l *list) recently(now time.Time) (confirmed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &l.doubts
	if d.err != nil && d.epoch == l.epoch.Load() && now.Sub(d.failed) < confirmInterval {
		return false, d.err
	}
	return now.Sub(d.confirmed) < confirmInterval, nil
}

// note records the outcome of a fetch. Only an answer of the server to this process confirms a
// list. Requires l.mu.
func (d *doubts) note(f *flight, now time.Time) {
	switch {
	case f.err == nil:
		if d.err = nil; f.confirms && f.asked && now.After(d.confirmed) {
			d.confirmed = now
		}
	case !errors.Is(f.err, ErrFetcherGone):
		d.failed, d.err, d.epoch = now, f.err, f.epoch
	}
}

// confirms reports whether a list that another caller has fetched is recent enough for Confirm. A
// stored list is not: its time is from another clock.
func (s *snapshot) confirms(now time.Time) bool {
	return !s.stored && s.lease.age(now) < confirmInterval
}

// doubted reports whether the fetch must confirm the list.
func (l *list) doubted(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.confirms
}
