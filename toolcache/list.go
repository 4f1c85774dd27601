package toolcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// list is one server's tools as one partition sees them.
type list struct {
	key     Key
	snap    atomic.Pointer[snapshot]
	epoch   atomic.Uint64
	evicted atomic.Bool

	mu     sync.Mutex
	flight *flight                       // the fetch under way, nil when there is none
	misses *lru.Cache[string, time.Time] // when a refresh last did not bring a name
}

// snapshot is one state of a list. It never changes.
type snapshot struct {
	tools []mcp.Tool
	index map[string]*mcp.Tool // into tools
	epoch uint64               // in which the fetch began
	// expires is the first instant at which the list is not fresh any more.
	expires time.Time
}

func newSnapshot(tools []mcp.Tool, epoch uint64, ttl time.Duration) *snapshot {
	s := &snapshot{
		tools:   make([]mcp.Tool, 0, len(tools)),
		index:   make(map[string]*mcp.Tool, len(tools)),
		epoch:   epoch,
		expires: time.Now().Add(ttl),
	}
	for i := range tools {
		if name := tools[i].Name; s.index[name] == nil {
			s.tools = append(s.tools, tools[i])
			s.index[name] = &s.tools[len(s.tools)-1]
		}
	}
	return s
}

func (l *list) fresh(s *snapshot, now time.Time) bool {
	return s != nil && s.epoch == l.epoch.Load() && now.Before(s.expires)
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

// flight is one fetch and what came of it; snap and err are set before done is
// closed.
type flight struct {
	epoch uint64
	done  chan struct{}
	snap  *snapshot
	err   error
}

// refresh returns the list as the server has it now: the result of the fetch
// under way if that began in the current epoch, else of a new one, which waits
// for the older to end. When a fetch of somebody else's is abandoned, it goes on
// with one of its own; each round ends one such fetch, so that it comes to that.
func (c *Cache) refresh(ctx context.Context, l *list, fetch Fetch) (*snapshot, error) {
	for {
		f, mine, current := c.join(ctx, l, fetch)
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ended(ctx)
		}
		switch {
		case !current:
			continue
		case f.err == nil:
			return f.snap, nil
		case !mine && errors.Is(f.err, ErrFetcherGone):
			continue
		}
		if s := l.snap.Load(); c.mayServeStale(l, s, f.err) {
			return s, nil
		}
		return nil, f.err
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
// this caller.
func (c *Cache) join(ctx context.Context, l *list, fetch Fetch) (f *flight, mine, current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch := l.epoch.Load()
	if l.flight != nil {
		return l.flight, false, l.flight.epoch == epoch
	}
	f = &flight{epoch: epoch, done: make(chan struct{}), err: ErrFetcherGone}
	l.flight = f
	go c.run(context.WithoutCancel(ctx), l, f, fetch)
	return f, true, true
}

// run fetches, keeps the result and lets the waiters go.
func (c *Cache) run(ctx context.Context, l *list, f *flight, fetch Fetch) {
	defer func() {
		if f.err == nil {
			l.put(f.snap)
		}
		l.mu.Lock()
		l.flight = nil
		l.mu.Unlock()
		close(f.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, c.set.FetchTimeout)
	defer cancel()
	tools, ttl, err := fetch(ctx)
	if err == nil {
		f.snap = newSnapshot(tools, f.epoch, c.set.ttl(ttl))
	}
	f.err = err
}

// mayServeStale reports whether s may stand in for a fetch that failed with
// err: it ended by age alone, and not long ago (CACHE-11).
func (c *Cache) mayServeStale(l *list, s *snapshot, err error) bool {
	return c.set.ServeStale && s != nil && s.epoch == l.epoch.Load() &&
		time.Since(s.expires) <= maxStale &&
		(c.set.StaleIf == nil || c.set.StaleIf(err))
}
