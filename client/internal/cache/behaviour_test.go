package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// A thousand readers of an empty cache cause one request, whichever method they use.
func TestThousandColdReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		s.took = time.Second
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				if i%2 == 0 {
					get(t, c, s, "a")
				} else if _, err := c.List(t.Context(), key, s.list); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		asked(t, s, 1)
	})
}

// Ten thousand notifications cause one fetch per second while there are readers, and none without
// readers. The last notification is never lost.
func TestStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		get(t, c, s, "a")
		for range 10_000 {
			c.Changed(key)
			time.Sleep(time.Millisecond)
		}
		asked(t, s, 1)

		start, done := time.Now(), make(chan struct{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						get(t, c, s, "a")
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		for range 10_000 {
			time.Sleep(time.Millisecond)
			c.Changed(key)
		}
		s.set("a", "last")
		c.Changed(key)
		close(done)
		wg.Wait()
		require.LessOrEqual(t, int(s.asked.Load())-1, int(time.Since(start)/time.Second)+1)
		require.GreaterOrEqual(t, int(s.asked.Load())-1, 9)
		get(t, c, s, "last")
	})
}

// A caller that invalidates the list itself does not wait, and neither does one without
// notifications.
func TestOnlyWhatTheServerSaysIsPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		start := time.Now()
		get(t, c, s, "a")
		c.Invalidate(key)
		get(t, c, s, "a")
		c.Changed(key)
		c.Invalidate(key)
		get(t, c, s, "a")
		asked(t, s, 3)
		c.Changed(key)
		get(t, c, s, "a")
		asked(t, s, 4)
		require.Zero(t, time.Since(start), "nothing that the server has said was fetched before")
		c.Changed(key)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := c.Get(ctx, key, "a", s.list)
		require.ErrorIs(t, err, context.DeadlineExceeded, "waiting is within the reader's own time")
		get(t, c, s, "a")
		require.Equal(t, time.Second, time.Since(start))
		asked(t, s, 5)
		time.Sleep(time.Second)
		c.Changed(key)
		get(t, c, s, "a")
		require.Equal(t, 2*time.Second, time.Since(start), "the last fetch is long enough ago")
	})
}

// ErrAbsent is cached for a minute; no other error is.
func TestAbsent(t *testing.T) {
	t.Parallel()
	none := fmt.Errorf("%w: method not found", cache.ErrAbsent)
	for name, tt := range map[string]struct {
		err    error
		before func(c *cache.Cache)
		asked  int
	}{
		"absent":      {none, func(*cache.Cache) { <-time.After(time.Minute - 1) }, 1},
		"after 60 s":  {none, func(*cache.Cache) { <-time.After(time.Minute) }, 2},
		"invalidated": {none, func(c *cache.Cache) { c.Invalidate(key) }, 2},
		"changed":     {none, func(c *cache.Cache) { c.Changed(key) }, 2},
		"cleared":     {none, func(c *cache.Cache) { c.Clear(key) }, 2},
		"down":        {errors.New("-32603"), func(*cache.Cache) {}, 2},
		"refused":     {cache.ErrRefused, func(*cache.Cache) {}, 2},
		"gone":        {cache.ErrFetcherGone, func(*cache.Cache) {}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(t, toolcache.Settings{ServeStale: true}), newServer("a")
				s.fail(tt.err)
				_, err := c.List(t.Context(), key, s.list)
				require.ErrorIs(t, err, tt.err)
				tt.before(c)
				_, err = c.Get(t.Context(), key, "a", s.list)
				require.ErrorIs(t, err, tt.err)
				asked(t, s, tt.asked)
				c.Invalidate(key)
				s.fail(nil)
				get(t, c, s, "a")
				get(t, c, s, "a")
				asked(t, s, tt.asked+1)
			})
		})
	}
}

// Stale lists are marked as stale. After the credentials were refused, no stale list is returned,
// even if the server is only unavailable later.
func TestStaleSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		c, s := newCache(t, toolcache.Settings{ServeStale: true, TTL: time.Minute}), newServer("a")
		_, st, err := c.Find(t.Context(), key, "a", s.list)
		require.NoError(t, err)
		require.Equal(t, toolcache.Freshness{}, st)
		time.Sleep(30 * time.Second)
		_, st, _ = c.Read(t.Context(), key, s.list)
		require.Equal(t, toolcache.Freshness{Age: 30 * time.Second}, st)
		time.Sleep(30 * time.Second)
		s.fail(down)
		tool, st, err := c.Find(t.Context(), key, "a", s.list)
		require.NoError(t, err)
		require.Equal(t, "a", tool.Name)
		require.Equal(t, toolcache.Freshness{Stale: true, Age: time.Minute, Cause: down}, st)
		tools, st, err := c.Read(t.Context(), key, s.list)
		require.NoError(t, err)
		require.Len(t, tools, 1)
		require.True(t, st.Stale)
		_, _, err = c.Find(t.Context(), cache.Key{Server: "docling", Partition: "bob"}, "a", s.list)
		require.ErrorIs(t, err, down, "not across partitions")

		s.fail(fmt.Errorf("%w: 401", cache.ErrRefused))
		_, err = c.List(t.Context(), key, s.list)
		require.ErrorIs(t, err, cache.ErrRefused)
		s.fail(down)
		_, err = c.List(t.Context(), key, s.list)
		require.ErrorIs(t, err, down)
		_, _, ok := c.Lookup(key, "a")
		require.True(t, ok, "the schema last seen is kept (CACHE-15)")
		s.fail(nil)
		get(t, c, s, "a")
		time.Sleep(time.Minute)
		s.fail(down)
		get(t, c, s, "a") // a stale list may be used again
	})
}

func TestRevalidate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{TTL: time.Minute, Revalidate: 30 * time.Second}), newServer("a")
		s.took = time.Second
		get(t, c, s, "a")
		start := time.Now()
		time.Sleep(time.Minute + 30*time.Second)
		for range 3 {
			_, st, err := c.Find(t.Context(), key, "a", s.list)
			require.NoError(t, err)
			require.Equal(t, toolcache.Freshness{Stale: true, Age: 90 * time.Second}, st)
		}
		require.Equal(t, 90*time.Second, time.Since(start), "nobody waited")
		time.Sleep(2 * time.Second)
		asked(t, s, 2)
		_, st, _ := c.Find(t.Context(), key, "a", s.list)
		require.Equal(t, toolcache.Freshness{Age: time.Second}, st)

		wait := func() time.Duration {
			start := time.Now()
			get(t, c, s, "a")
			return time.Since(start)
		}
		time.Sleep(time.Minute + 30*time.Second)
		require.Equal(t, time.Second, wait(), "over its time")
		c.Invalidate(key)
		require.Equal(t, time.Second, wait(), "never what is known to be outdated")

		zero := newCache(t, toolcache.Settings{TTL: -1, Revalidate: time.Second})
		for i := range 3 {
			get(t, zero, s, "a")
			asked(t, s, 5+i) // 0 means that every read asks the server
		}
	})
}

// One tool with too large schemas does not affect the others.
func TestLargeTool(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer("a", "b")
	huge := json.RawMessage(`{"description":"` + strings.Repeat("x", 10<<20) + `"}`)
	s.tools[0].InputSchema = huge
	s.tools = append(s.tools, mcp.Tool{Name: "a", Title: "a second of that name does not count"})
	get(t, c, s, "b")
	for range 3 {
		_, err := c.Get(t.Context(), key, "a", s.list)
		var refused *cache.RefusedToolError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, cache.RefusedToolError{Name: "a", Bytes: len(huge), Limit: 1 << 20}, *refused)
		require.Less(t, len(err.Error()), 200)
	}
	asked(t, s, 1)
	tools, err := c.List(t.Context(), key, s.list)
	require.NoError(t, err)
	require.Len(t, tools, 1)
	st, ok := c.Status(key)
	require.True(t, ok)
	require.Equal(t, 1, st.Refused)

	s.tools[0].InputSchema, s.tools[0].OutputSchema = huge[:1<<19], huge[:1<<19]
	c.Invalidate(key)
	get(t, c, s, "a") // at the limit
}

// A list over the limits does not replace the present one.
func TestTooManyTools(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer("a")
	get(t, c, s, "a")
	s.tools = make([]mcp.Tool, 100_001)
	c.Invalidate(key)
	_, err := c.List(t.Context(), key, s.list)
	require.ErrorContains(t, err, "100000")
	_, _, ok := c.Lookup(key, "a")
	require.True(t, ok)
}

// A public list is shared between partitions if the setting allows it, and a private one never.
func TestSharePublic(t *testing.T) {
	t.Parallel()
	ann := cache.Key{Server: "docling", Variant: "v", Partition: "ann"}
	bob := cache.Key{Server: "docling", Variant: "v", Partition: "bob"}
	other := cache.Key{Server: "docling", Variant: "w", Partition: "ann"}
	read := func(t *testing.T, c *cache.Cache, s *server, k cache.Key) string {
		t.Helper()
		tools, err := c.List(t.Context(), k, s.list)
		require.NoError(t, err)
		return tools[0].Name
	}
	for name, tt := range map[string]struct{ share, public, crosses bool }{
		"public": {true, true, true}, "private": {true, false, false}, "not asked for": {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(t, toolcache.Settings{SharePublic: tt.share}), newServer("a")
				s.public = tt.public
				read(t, c, s, ann)
				synctest.Wait()
				read(t, c, s, bob)
				if !tt.crosses {
					asked(t, s, 2)
					return
				}
				asked(t, s, 1)
				read(t, c, s, other)
				asked(t, s, 2) // of another variant
				st, _ := c.Status(bob)
				require.True(t, st.Public && !st.Stale)

				// A notification for one key makes its list stale, whichever caller fetched the
				// list.
				s.set("new")
				c.Invalidate(bob)
				require.Equal(t, "new", read(t, c, s, bob))
				asked(t, s, 3)
				synctest.Wait()
				c.Invalidate(ann)
				require.Equal(t, "new", read(t, c, s, ann))
				asked(t, s, 4)
				_, err := c.Get(t.Context(), bob, "unknown", s.list)
				require.ErrorIs(t, err, cache.ErrUnknownTool)
				asked(t, s, 5) // an unknown name causes a fetch of its own
			})
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a", "b")
		_, ok := c.Status(key)
		require.False(t, ok)
		get(t, c, s, "a")
		time.Sleep(time.Second)
		st, ok := c.Status(key)
		require.True(t, ok)
		require.Len(t, st.Hash, 64)
		want := toolcache.Status{Tools: 2, Age: time.Second, TTL: cache.DefaultTTL, Hash: st.Hash}
		require.Equal(t, want, st)
		c.Changed(key)
		c.Invalidate(key)
		want.Stale, want.Epoch = true, 2
		st, _ = c.Status(key)
		require.Equal(t, want, st)
		get(t, c, s, "a")
		st, _ = c.Status(key)
		require.Equal(t, want.Hash, st.Hash, "the same tools")
		s.set("a")
		c.Invalidate(key)
		get(t, c, s, "a")
		st, _ = c.Status(key)
		require.NotEqual(t, want.Hash, st.Hash)
	})
}

// A caller whose credentials were refused gets no shared list until a fetch has succeeded.
func TestRefusedIsGivenNothingPublic(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{SharePublic: true}), fetched("a", time.Hour)
	s.public = true
	a, b := cache.Key{Server: "s", Partition: "a"}, cache.Key{Server: "s", Partition: "b"}
	_, err := c.List(t.Context(), a, s.list)
	require.NoError(t, err)
	_, err = c.List(t.Context(), b, s.list)
	require.NoError(t, err)
	asked(t, s, 1)
	s.fail(cache.ErrRefused)
	for n := range 2 { // the list does not have it, so it causes a fetch
		_, err = c.Get(t.Context(), b, "x", s.list)
		require.ErrorIs(t, err, cache.ErrRefused)
		asked(t, s, 2+n)
	}
	s.fail(nil)
	_, err = c.List(t.Context(), b, s.list)
	require.NoError(t, err)
	asked(t, s, 4)
}
