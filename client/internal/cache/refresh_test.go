package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func TestCache_S2_CACHE_03_RefreshAtExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{TTL: time.Minute}), newServer("a")
		get(t, c, s, "a")
		for i := range 3 {
			time.Sleep(time.Minute - 1)
			get(t, c, s, "a")
			asked(t, s, i+1)
			time.Sleep(1)
			get(t, c, s, "a")
			get(t, c, s, "a")
			asked(t, s, i+2)
		}
	})
}

func TestCache_S2_CACHE_05_Invalidate(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer("a")
	c.Invalidate(key) // nothing there: nothing happens
	get(t, c, s, "a")
	c.Invalidate(key)
	c.Invalidate(key)
	asked(t, s, 1)
	get(t, c, s, "a")
	get(t, c, s, "a")
	asked(t, s, 2)
}

func TestCache_S2_CACHE_06_OneRefreshForAHundred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		get(t, c, s, "a")
		time.Sleep(cache.DefaultTTL)
		s.took = time.Second
		s.mu.Lock()
		s.tools = []mcp.Tool{{Name: "a", InputSchema: json.RawMessage(`{"new":true}`)}}
		s.mu.Unlock()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if got := string(get(t, c, s, "a").InputSchema); got != `{"new":true}` {
					t.Errorf("the schema from before the refresh: %s", got)
				}
			})
		}
		wg.Wait()
		asked(t, s, 2)
	})
}

func TestCache_S2_CACHE_07_ListIsReplacedWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a", "b")
		get(t, c, s, "b")
		s.set("c", "a")
		time.Sleep(cache.DefaultTTL)
		tools, err := c.List(t.Context(), key, s.list)
		require.NoError(t, err)
		require.Len(t, tools, 2)
		require.Equal(t, "c", tools[0].Name)
		unknown(t, c, s, "b")
		_, _, ok := c.Lookup(key, "b")
		require.False(t, ok)
	})
}

func TestCache_S2_CACHE_08_FailedRefresh(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	refused := errors.New("401")
	for _, tt := range []struct {
		name  string
		set   toolcache.Settings
		err   error
		after time.Duration // after the list expires
		spoil bool          // invalidate
		stale bool
	}{
		{"default", toolcache.Settings{}, down, 0, false, false},
		{"option", toolcache.Settings{ServeStale: true}, down, 0, false, true},
		{"option, an hour", toolcache.Settings{ServeStale: true}, down, time.Hour, false, true},
		{"option, over an hour", toolcache.Settings{ServeStale: true}, down, time.Hour + 1, false, false},
		{"option, invalidated", toolcache.Settings{ServeStale: true}, down, 0, true, false},
		{"option, not for this error", toolcache.Settings{ServeStale: true, StaleIf: func(err error) bool { return !errors.Is(err, refused) }}, refused, 0, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(t, tt.set), newServer("a")
				get(t, c, s, "a")
				time.Sleep(cache.DefaultTTL + tt.after)
				s.fail(tt.err)
				if tt.spoil {
					c.Invalidate(key)
				}
				for range 2 { // errors are not remembered
					tool, err := c.Get(t.Context(), key, "a", s.list)
					if tt.stale {
						require.NoError(t, err)
						require.Equal(t, "a", tool.Name)
					} else {
						require.ErrorIs(t, err, tt.err)
						require.Nil(t, tool)
					}
				}
				asked(t, s, 3)
				_, fresh, ok := c.Lookup(key, "a") // nothing was changed
				require.True(t, ok)
				require.False(t, fresh)
				s.fail(nil)
				get(t, c, s, "a")
				_, fresh, ok = c.Lookup(key, "a")
				require.True(t, ok && fresh)
			})
		})
	}
}

// A fetch that began before the change does not answer a read after it.
func TestCache_S2_CACHE_09_EpochRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("old")
		s.took = 2 * time.Second
		var wg sync.WaitGroup
		wg.Go(func() { get(t, c, s, "old") }) // returned to the caller that waited for it
		time.Sleep(time.Second)
		s.set("new")
		c.Invalidate(key)
		for range 10 {
			wg.Go(func() { get(t, c, s, "new") })
		}
		synctest.Wait()
		asked(t, s, 1) // one fetch at a time
		time.Sleep(time.Second)
		synctest.Wait()
		_, fresh, ok := c.Lookup(key, "old")
		require.True(t, ok)
		require.False(t, fresh, "kept as stale")
		wg.Wait()
		asked(t, s, 2)
		_, fresh, ok = c.Lookup(key, "new")
		require.True(t, ok && fresh)
	})
}

// All waiters may give up; the fetch ends by its own timeout.
func TestCache_S2_CACHE_10_FetchHasItsOwnBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{FetchTimeout: 10 * time.Second}), newServer("a")
		s.took = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Get(ctx, key, "a", s.list)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		_, err = c.Get(t.Context(), key, "a", s.list) // the same fetch
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 9*time.Second, time.Since(start))
		asked(t, s, 1)
	})
}

func TestFirstCallerGivingUpHurtsNobody(t *testing.T) {
	t.Parallel()
	type ctxKey struct{}
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		s.took = 5 * time.Second
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), ctxKey{}, "trace"))
		var value any
		fetch := func(ctx context.Context) (cache.Listing, error) {
			value = ctx.Value(ctxKey{})
			return s.list(ctx)
		}
		var wg sync.WaitGroup
		var got error
		wg.Go(func() { _, got = c.Get(ctx, key, "a", fetch) })
		synctest.Wait()
		wg.Go(func() { get(t, c, s, "a") })
		time.Sleep(time.Second)
		cancel(gone)
		wg.Wait()
		require.ErrorIs(t, got, gone)
		asked(t, s, 1)
		require.Equal(t, "trace", value, "values go along, cancellation does not")
	})
}

// Refresh is List for callers that do not need the tools yet.
func TestRefresh(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer("a")
	for range 2 {
		require.NoError(t, c.Refresh(t.Context(), key, s.list))
		asked(t, s, 1)
	}
	get(t, c, s, "a")
	asked(t, s, 1)
	c.Invalidate(key)
	down := errors.New("down")
	s.fail(down)
	require.ErrorIs(t, c.Refresh(t.Context(), key, s.list), down)
	asked(t, s, 2)
}

// A fetch that calls runtime.Goexit, as FailNow does in a test, must not leave its waiters
// waiting.
func TestAbandonedFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		_, err := c.Get(t.Context(), key, "a", func(context.Context) (cache.Listing, error) {
			runtime.Goexit()
			return cache.Listing{}, nil
		})
		require.ErrorContains(t, err, "abandoned")
		get(t, c, s, "a")
	})
}
