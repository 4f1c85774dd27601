package toolcache

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// confirmInterval is how far apart two fetches of a list are, at least, that
// somebody's doubt causes (decisions 28): models make up names and arguments all
// the time.
const confirmInterval = 10 * time.Second

// Confirm returns the tool as the server lists it now, for callers with a reason
// to doubt the list: arguments or results that do not fit it, or a name that it
// does not have. It asks the server, however fresh the list is, but not twice in
// ten seconds: in between, the list that the last Confirm has fetched is current
// enough, and the error of a fetch that failed is still the answer. A list that was
// fetched for somebody else counts as of its fetch, one out of the [Store] never. A
// name that is still unknown is asked for again after a second. Errors are those of
// [Cache.Get]; a list that stands in for one that could not be fetched confirms
// nothing. The tool is a copy; what it points to is shared.
func (c *Cache) Confirm(ctx context.Context, key Key, name string, fetch Fetch) (*mcp.Tool, error) {
	s, err := c.confirmed(ctx, c.obtain(key), name, fetch)
	if err != nil {
		return nil, err
	}
	tool := *s.index[name]
	return &tool, nil
}

// confirmed returns a list that has the name.
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

// Renew has a list fetched whose time is over, beside those who use its tools
// without reading the list, and does not wait. It fetches nothing while there is no
// list, and not within ten seconds after the last fetch began, whatever became of
// that one.
func (c *Cache) Renew(ctx context.Context, key Key, fetch Fetch) {
	l, now := c.obtain(key), time.Now()
	if s := l.snap.Load(); s != nil && !l.fresh(s, now) && l.absent(now) == nil && l.rested(now) {
		c.join(ctx, l, fetch, s, reading)
	}
}

// rested reports whether no fetch has begun for a while.
func (l *list) rested(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flight == nil && now.Sub(l.began) >= confirmInterval
}

// doubts is when a list was last confirmed, and when it last could not be
// fetched. It is guarded by the mutex of the list.
type doubts struct {
	confirmed, failed time.Time
	err               error
	epoch             uint64 // in which the failure was
}

// recently reports whether a list was confirmed a moment ago, or why it could not
// be.
func (l *list) recently(now time.Time) (confirmed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &l.doubts
	if d.err != nil && d.epoch == l.epoch.Load() && now.Sub(d.failed) < confirmInterval {
		return false, d.err
	}
	return now.Sub(d.confirmed) < confirmInterval, nil
}

// note notes what came of a fetch at a time. Only what the server said to this
// process confirms anything. Requires l.mu.
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

// confirms reports whether a list that somebody else has fetched is what the server
// lists now. One from the store never is: its time is that of another clock.
func (s *snapshot) confirms(now time.Time) bool {
	return !s.stored && s.lease.age(now) < confirmInterval
}

// doubted reports whether somebody doubts what a fetch is to replace.
func (l *list) doubted(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.confirms
}
