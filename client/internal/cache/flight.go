package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// flight is one fetch and its outcome. The mutex of the list guards begun, epoch and confirms;
// the rest is set before done is closed.
type flight struct {
	begun    bool
	epoch    uint64 // epoch in which the fetch began
	confirms bool   // a caller doubts the present list
	done     chan struct{}
	snap     *snapshot
	asked    bool // the server was asked
	own      bool // the result is only for the caller that began the fetch
	err      error
}

// purpose is the purpose of a fetch.
type purpose bool

const (
	reading    purpose = false
	confirming purpose = true // the result of an earlier fetch is not enough
)

// refresh returns the current list of the server: the result of the fetch in flight if it began
// in the current epoch, else of a new one that starts after it. If the fetch of another caller is
// abandoned, refresh continues with its own.
//
// If name is not in a list that was outdated during the fetch, or that did not come from the
// server, the list is fetched once more: name may be the change. saw is the list that the caller
// has already seen.
func (c *Cache) refresh(ctx context.Context, l *list, fetch Fetch, saw *snapshot, name string, why purpose) (*snapshot, toolcache.Freshness, error) {
	for again := false; ; {
		f, mine, current := c.join(ctx, l, fetch, saw, why)
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, toolcache.Freshness{}, ended(ctx)
		}
		if f.snap != nil {
			saw = f.snap // a list that another caller fetches later is news
		}
		now := time.Now()
		switch {
		case !current, f.own && !mine, f.err == nil && why == confirming && !f.asked:
			continue
		case f.err == nil && !again && (f.epoch != l.epoch.Load() || !f.asked) && (why == confirming || name != "" && f.snap.index[name] == nil):
			again = true
			continue
		case f.err == nil:
			return f.snap, toolcache.Freshness{Age: f.snap.lease.age(now)}, nil
		case !mine && errors.Is(f.err, ErrFetcherGone):
			continue
		}
		if s := l.snap.Load(); c.mayServeStale(l, s, f.err, now) {
			return s, toolcache.Freshness{Stale: true, Age: s.lease.age(now), Cause: f.err}, nil
		}
		return nil, toolcache.Freshness{Cause: f.err}, f.err
	}
}

// ended returns the error of a caller whose context has ended: how (canceled or expired), and the
// cause if there is another one.
func ended(ctx context.Context) error {
	how, why := ctx.Err(), context.Cause(ctx)
	if errors.Is(why, how) {
		return why
	}
	return fmt.Errorf("%w: %w", how, why)
}

// join returns the fetch in flight, or starts one; mine is true then. current is false if the
// fetch began before the last invalidation, so that its result is not for this caller. A list
// that arrived after the caller's last look is as good as a fetch; to confirm, it must be recent
// and from the server.
func (c *Cache) join(ctx context.Context, l *list, fetch Fetch, saw *snapshot, why purpose) (f *flight, mine, current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f = l.flight; f != nil {
		f.confirms = f.confirms || why == confirming
		return f, false, !f.begun || f.epoch == l.epoch.Load()
	}
	if s, now := l.snap.Load(), time.Now(); s != saw && l.fresh(s, now) && (why == reading || s.confirms(now)) {
		f = &flight{begun: true, epoch: s.epoch, done: make(chan struct{}), snap: s, asked: why == confirming || !s.stored && !s.borrowed, confirms: why == confirming}
		l.doubts.note(f, s.lease.at) // at the time of its own fetch
		close(f.done)
		return f, false, true
	}
	f = &flight{done: make(chan struct{}), err: ErrFetcherGone, confirms: why == confirming}
	wait := time.Duration(0)
	if l.paced.Load() {
		wait = minInterval - time.Since(l.announced)
	}
	if wait <= 0 {
		l.begin(f)
	}
	l.flight = f
	go c.run(context.WithoutCancel(ctx), l, f, fetch, wait)
	return f, true, true
}

// begin starts a fetch in the current epoch. Earlier notifications are covered by it. Requires
// l.mu.
func (l *list) begin(f *flight) {
	l.began = time.Now()
	if l.paced.Swap(false) { // before the epoch is read: a notification in between counts twice rather than never
		l.announced = l.began
	}
	f.epoch, f.begun = l.epoch.Load(), true
}

// run fetches, stores the result and wakes the waiters.
func (c *Cache) run(ctx context.Context, l *list, f *flight, fetch Fetch, wait time.Duration) {
	var public shared
	defer func() {
		if f.err == nil && !f.own {
			l.absence.Store(nil)
			l.put(f.snap)
		}
		l.mu.Lock()
		l.flight = nil
		if !f.own {
			l.doubts.note(f, time.Now())
		}
		l.mu.Unlock()
		close(f.done)
		if f.asked && !f.own {
			c.keep(context.WithoutCancel(ctx), l, f.snap, public)
		}
	}()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		<-timer.C
		l.mu.Lock()
		l.begin(f)
		l.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(ctx, c.set.FetchTimeout)
	defer cancel()
	if f.snap = c.elsewhere(ctx, l, f); f.snap != nil {
		f.err = nil
		return
	}
	public = c.public(l)
	from, err := c.fetched(ctx, fetch)
	if err == nil && len(from.Tools) > maxTools {
		err = errTooMany
	}
	if err == nil {
		f.snap, f.asked, f.own = newSnapshot(from, f.epoch, c.leaseOf(from.TTL)), true, from.Own
		l.refused.Store(false)
	} else {
		c.failed(ctx, l, f, err)
	}
	f.err = err
}

// failed records the effects of an error on later fetches.
func (c *Cache) failed(ctx context.Context, l *list, f *flight, err error) {
	switch {
	case errors.Is(err, ErrRefused):
		// A new epoch, so that nothing cached is returned.
		l.refused.Store(true)
		l.epoch.Add(1)
		c.unsave(ctx, l)
	case errors.Is(err, ErrAbsent):
		l.absence.Store(&absence{err: err, epoch: f.epoch, lease: newLease(time.Now(), absentTTL)})
	case errors.Is(err, ErrFetcherGone):
	default:
		if s, now := l.snap.Load(), time.Now(); c.mayServeStale(l, s, err, now) {
			c.set.Logger.Warn("[MCP] the list of tools could not be fetched; the stale list is used",
				"age", s.lease.age(now).Round(time.Second), "error", err)
		}
	}
}

// mayReplace reports whether a stale answer may be returned instead of err.
func (c *Cache) mayReplace(err error) bool {
	return !errors.Is(err, ErrRefused) && !errors.Is(err, ErrAbsent) && (c.set.StaleIf == nil || c.set.StaleIf(err))
}

// elsewhere returns a fresh list without asking the server: from the durable store, if this
// process has none yet, or from another partition if that is allowed. It returns nil if there is
// none.
func (c *Cache) elsewhere(ctx context.Context, l *list, f *flight) *snapshot {
	if l.doubted(f) || l.refused.Load() || l.fresh(l.snap.Load(), time.Now()) {
		return nil // the caller needs more than such a list
	}
	c.load(ctx, l)
	if s := l.snap.Load(); l.fresh(s, time.Now()) {
		return s
	}
	if !c.set.SharePublic {
		return nil
	}
	p := c.obtain(l.key.public())
	c.load(ctx, p)
	if s := p.snap.Load(); p.fresh(s, time.Now()) && s.public && !p.evicted.Load() {
		s = s.in(f.epoch)
		s.borrowed = true
		return s
	}
	return nil
}

// shared is the list that all partitions may share, and its epoch when a fetch began.
type shared struct {
	list  *list
	epoch uint64
}

// public returns where the result of a fetch of l may be shared; no list means nowhere.
func (c *Cache) public(l *list) shared {
	if !c.set.SharePublic {
		return shared{}
	}
	p := c.obtain(l.key.public())
	return shared{p, p.epoch.Load()}
}

// keep stores a fetched list for other partitions and other processes. If the list was evicted
// meanwhile, nothing is stored: only its successor has seen later changes.
func (c *Cache) keep(ctx context.Context, l *list, s *snapshot, public shared) {
	if public.list != nil && s.public {
		l, s = public.list, s.in(public.epoch)
		if !l.evicted.Load() {
			l.put(s)
		}
	}
	c.save(ctx, l, s)
}
