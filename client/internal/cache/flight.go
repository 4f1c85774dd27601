package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// flight is one fetch and what came of it. begun, epoch and confirms are guarded
// by the mutex of the list; the rest is set before done is closed.
type flight struct {
	begun    bool
	epoch    uint64 // in which it began
	confirms bool   // somebody doubts the list that is there
	done     chan struct{}
	snap     *snapshot
	asked    bool // the server was asked for it
	own      bool // it is for the caller that began the fetch
	err      error
}

// purpose is what a fetch is for.
type purpose bool

const (
	reading    purpose = false
	confirming purpose = true // what others have fetched before is not enough
)

// refresh returns the list as the server has it now: the result of the fetch
// under way if that began in the current epoch, else of a new one, which waits
// for the older to end. When a fetch of somebody else's is abandoned, it goes on
// with one of its own; each round ends one such fetch, so that it comes to that.
// If name is not in a list that was outdated on its way, or that the server was not asked
// for, the list is fetched again, once: the name may be what has changed. saw is the list
// that is not enough for the caller.
func (c *Cache) refresh(ctx context.Context, l *list, fetch Fetch, saw *snapshot, name string, why purpose) (*snapshot, toolcache.Freshness, error) {
	for again := false; ; {
		f, mine, current := c.join(ctx, l, fetch, saw, why)
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, toolcache.Freshness{}, ended(ctx)
		}
		if f.snap != nil {
			saw = f.snap // and not what another caller may have fetched since: that is news
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

// ended is the error of a caller whose context has ended. It says how (cancelled
// or out of time) and why, which differ when the context was given a cause.
func ended(ctx context.Context) error {
	how, why := ctx.Err(), context.Cause(ctx)
	if errors.Is(why, how) {
		return why
	}
	return fmt.Errorf("%w: %w", how, why)
}

// join returns the fetch under way, or starts one, which is mine. current is
// false when the fetch began before the last invalidation: its result is not for
// this caller. A list that has come since the caller saw one is as good as a fetch;
// one that confirms must have come from the server a moment ago.
func (c *Cache) join(ctx context.Context, l *list, fetch Fetch, saw *snapshot, why purpose) (f *flight, mine, current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f = l.flight; f != nil {
		f.confirms = f.confirms || why == confirming
		return f, false, !f.begun || f.epoch == l.epoch.Load()
	}
	if s, now := l.snap.Load(), time.Now(); s != saw && l.fresh(s, now) && (why == reading || s.confirms(now)) {
		f = &flight{begun: true, epoch: s.epoch, done: make(chan struct{}), snap: s, asked: why == confirming || !s.stored && !s.borrowed, confirms: why == confirming}
		l.doubts.note(f, s.lease.at) // as of its own fetch
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

// begin notes in which epoch a fetch begins, which is the current one, and that
// what the server has said up to now is taken care of. Requires l.mu.
func (l *list) begin(f *flight) {
	l.began = time.Now()
	if l.paced.Swap(false) { // before the epoch is read: what comes between counts twice, not never
		l.announced = l.began
	}
	f.epoch, f.begun = l.epoch.Load(), true
}

// run fetches, keeps the result and lets the waiters go.
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

// failed notes the consequences of an error for later fetches.
func (c *Cache) failed(ctx context.Context, l *list, f *flight, err error) {
	switch {
	case errors.Is(err, ErrRefused):
		// A new epoch: nothing that is cached may be returned.
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

// mayReplace reports whether a stale answer may replace one that failed with err.
func (c *Cache) mayReplace(err error) bool {
	return !errors.Is(err, ErrRefused) && !errors.Is(err, ErrAbsent) && (c.set.StaleIf == nil || c.set.StaleIf(err))
}

// elsewhere returns a fresh list that is there without asking the server: from
// the durable store, when this process has none yet, or from another partition,
// where it may. nil is none.
func (c *Cache) elsewhere(ctx context.Context, l *list, f *flight) *snapshot {
	if l.doubted(f) || l.refused.Load() || l.fresh(l.snap.Load(), time.Now()) {
		return nil // it is for others; what is asked for is not in it
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

// shared is the list of what all partitions may share, and its epoch, at the
// moment when a fetch began.
type shared struct {
	list  *list
	epoch uint64
}

// public is where what the fetch of l brings may be shared; no list is nowhere.
func (c *Cache) public(l *list) shared {
	if !c.set.SharePublic {
		return shared{}
	}
	p := c.obtain(l.key.public())
	return shared{p, p.epoch.Load()}
}

// keep puts a list that was fetched where others find it: other partitions and
// other processes. A list that was evicted meanwhile may have a successor, which
// alone knows what has changed since: nothing is kept then.
func (c *Cache) keep(ctx context.Context, l *list, s *snapshot, public shared) {
	if public.list != nil && s.public {
		l, s = public.list, s.in(public.epoch)
		if !l.evicted.Load() {
			l.put(s)
		}
	}
	c.save(ctx, l, s)
}
