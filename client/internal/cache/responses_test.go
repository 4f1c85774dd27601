package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// pages answers by key, and counts requests.
type pages struct {
	asked atomic.Int32
	took  time.Duration
	ttl   time.Duration
	own   bool
	err   error
}

func (p *pages) ask(ctx context.Context) (cache.Response, error) {
	n := p.asked.Add(1)
	if p.took > 0 {
		select {
		case <-time.After(p.took):
		case <-ctx.Done():
			return cache.Response{}, fmt.Errorf("%w: %w", cache.ErrFetcherGone, context.Cause(ctx))
		}
	}
	return cache.Response{Result: fmt.Appendf(nil, "%d", n), TTL: &p.ttl, Own: p.own}, p.err
}

func response(param string) cache.ResponseKey {
	return cache.ResponseKey{Key: key, Method: "resources/list", Param: param}
}

// read may be called on any goroutine.
func read(t *testing.T, c *cache.Cache, k cache.ResponseKey, p *pages) string {
	t.Helper()
	result, _, err := c.Response(t.Context(), k, false, p.ask)
	if err != nil {
		t.Error(err)
	}
	return string(result)
}

func TestResponse_CACHE_02_Age(t *testing.T) {
	t.Parallel()
	minute, day := time.Minute, 48*time.Hour
	tests := []struct {
		name  string
		set   toolcache.Settings
		ttl   *time.Duration
		fresh time.Duration
	}{
		{"the server's", toolcache.Settings{}, &minute, minute},
		{"at most a day", toolcache.Settings{}, &day, 24 * time.Hour},
		{"an explicit bound", toolcache.Settings{TTL: time.Second}, &minute, time.Second},
		{"an explicit bound that is longer", toolcache.Settings{TTL: time.Hour}, &minute, minute},
		{"switched off", toolcache.Settings{TTL: -1}, &minute, 0},
		{"not said", toolcache.Settings{TTL: time.Hour}, nil, 0},
		{"zero", toolcache.Settings{TTL: time.Hour}, new(time.Duration), 0},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			c, n := newCache(t, tt.set), 0
			ask := func() {
				_, _, err := c.Response(t.Context(), response(""), false, func(context.Context) (cache.Response, error) {
					n++
					return cache.Response{TTL: tt.ttl, Result: []byte("x")}, nil
				})
				require.NoError(t, err)
			}
			ask()
			if tt.fresh > 0 {
				time.Sleep(tt.fresh - 1)
				ask()
				require.Equal(t, 1, n, tt.name)
				time.Sleep(1)
			}
			ask()
			require.Equal(t, 2, n, tt.name)
		})
	}
}

// A result is only returned for its own key.
func TestResponse_CACHE_04_Keys(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	keys := []cache.ResponseKey{response(""), response("a"), response("b"), {Key: key, Method: "prompts/list"}}
	for _, partition := range []string{"2026-07-28 aa alice", "2026-07-28 bb alice", "2026-07-28 aa bob"} {
		keys = append(keys, cache.ResponseKey{Key: cache.Key{Server: key.Server, Partition: partition}, Method: "resources/list"})
	}
	keys = append(keys, cache.ResponseKey{Key: cache.Key{Server: "other"}, Method: "resources/list"})
	for range 2 {
		for i, k := range keys {
			require.Equal(t, fmt.Sprint(i+1), read(t, c, k, p))
		}
	}
}

func TestResponse_CACHE_07_OneFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := newCache(t, toolcache.Settings{}), &pages{took: time.Second}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if got := read(t, c, response(""), p); got != "1" {
					t.Error(got)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err := c.Response(ctx, response(""), false, p.ask)
		require.ErrorIs(t, err, context.DeadlineExceeded, "who waits has a context of its own")
		wg.Wait()
		require.EqualValues(t, 1, p.asked.Load())
	})
}

// A caller that gives up does not affect the others. An error that all share is not requested
// again by each. Neither is cached.
func TestResponse_CACHE_07_Errors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := newCache(t, toolcache.Settings{}), &pages{took: time.Second, ttl: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _, _ = c.Response(ctx, response(""), false, p.ask) }()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { read(t, c, response(""), p) })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		require.EqualValues(t, 2, p.asked.Load())

		down := errors.New("down")
		p = &pages{took: time.Second, err: down, ttl: time.Hour}
		for range 50 {
			wg.Go(func() {
				if _, _, err := c.Response(t.Context(), response("x"), false, p.ask); !errors.Is(err, down) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, p.asked.Load())
		p.err = nil
		require.Equal(t, "2", read(t, c, response("x"), p))
	})
}

// A request that calls runtime.Goexit leaves no caller waiting.
func TestResponse_AbandonedAsk(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	require.Panics(t, func() {
		_, _, _ = c.Response(t.Context(), response(""), false, func(context.Context) (cache.Response, error) { panic("boom") })
	})
	require.Equal(t, "1", read(t, c, response(""), p))
}

// A result that was requested before a change is not cached after it.
func TestResponse_CACHE_08_Race(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forgets := map[string]func(*cache.Cache){
			"the method": func(c *cache.Cache) { c.Forget(key, "resources/read") },
			"the one":    func(c *cache.Cache) { c.ForgetOne(resource("a")) },
			"all":        func(c *cache.Cache) { c.Clear(key) },
		}
		for name, forget := range forgets {
			c, p := newCache(t, toolcache.Settings{}), &pages{took: time.Second, ttl: time.Hour}
			var wg sync.WaitGroup
			wg.Go(func() { read(t, c, resource("a"), p) })
			synctest.Wait()
			forget(c)
			wg.Go(func() {
				if got := read(t, c, resource("a"), p); got != "2" {
					t.Errorf("%s: %s is from before the change", name, got)
				}
			})
			wg.Wait()
			require.Equal(t, "2", read(t, c, resource("a"), p), name)
			forget(c)
			require.Equal(t, "3", read(t, c, resource("a"), p), name)
		}
	})
}

func TestResponse_CACHE_08_OthersStay(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	other := cache.ResponseKey{Key: key, Method: "prompts/list"}
	for _, k := range []cache.ResponseKey{resource("a"), resource("b"), other} {
		read(t, c, k, p)
	}
	c.ForgetOne(resource("a"))
	require.Equal(t, "2", read(t, c, resource("b"), p))
	c.Forget(key, "resources/read")
	require.Equal(t, "3", read(t, c, other, p))
	require.Equal(t, "4", read(t, c, resource("b"), p))
	c.Forget(cache.Key{Server: "other"}, "prompts/list")
	require.Equal(t, "3", read(t, c, other, p))
}

// A result for one caller only is not returned to others.
func TestResponse_CACHE_09_Own(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := newCache(t, toolcache.Settings{}), &pages{took: time.Second, ttl: time.Hour, own: true}
		var wg sync.WaitGroup
		var got sync.Map
		for range 3 {
			wg.Go(func() { got.Store(read(t, c, response("a"), p), true) })
		}
		wg.Wait()
		for _, n := range []string{"1", "2", "3"} {
			_, ok := got.Load(n)
			require.True(t, ok, n)
		}
		require.Equal(t, "4", read(t, c, response("a"), p))
	})
}

// A list is fresh until its first page expires; then the walk starts over.
func TestResponse_CACHE_10_Pages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, toolcache.Settings{})
		long, short := &pages{ttl: time.Hour}, &pages{ttl: time.Minute}
		walk := func() string {
			return read(t, c, response(""), long) + read(t, c, response("2"), short) + read(t, c, response("3"), long)
		}
		require.Equal(t, "112", walk())
		time.Sleep(time.Minute - 1)
		require.Equal(t, "112", walk())
		time.Sleep(1)
		require.Equal(t, "324", walk(), "the page that is still fresh is read again too")
	})
}

// The caller owns the returned bytes.
func TestResponse_CACHE_14_Copies(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	for range 3 {
		result, _, err := c.Response(t.Context(), response(""), false, p.ask)
		require.NoError(t, err)
		require.Equal(t, "1", string(result))
		result[0] = 'x'
	}
}

// Bytes that the caller does not change are cached without a copy; other callers get copies.
func TestResponse_CACHE_14_Shared(t *testing.T) {
	t.Parallel()
	c := newCache(t, toolcache.Settings{})
	minute, came := time.Minute, []byte("not copied 1") // unique text: equal ones are stored once
	ask := func(context.Context) (cache.Response, error) {
		return cache.Response{Result: came, TTL: &minute, Shared: true}, nil
	}
	mine, _, err := c.Response(t.Context(), response(""), false, ask)
	require.NoError(t, err)
	require.Same(t, &came[0], &mine[0])
	for _, now := range []string{"1", "2"} {
		came[len(came)-1] = now[0] // a real caller must not: it shows that there is no copy
		for range 2 {
			others, _, err := c.Response(t.Context(), response(""), false, nil)
			require.NoError(t, err)
			require.Equal(t, "not copied "+now, string(others))
			others[0] = 'x'
		}
	}
}

func TestResponse_CACHE_14_Bounds(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	for i := range 1100 {
		read(t, c, resource(fmt.Sprint(i)), p)
	}
	asked := p.asked.Load()
	read(t, c, resource("1099"), p)
	require.Equal(t, asked, p.asked.Load())
	read(t, c, resource("0"), p)
	require.Equal(t, asked+1, p.asked.Load(), "the oldest is gone")

	big := func(name string, size int) bool {
		fetched := false
		_, _, err := c.Response(t.Context(), resource(name), false, func(context.Context) (cache.Response, error) {
			fetched = true
			return cache.Response{Result: make([]byte, size), TTL: &p.ttl}, nil
		})
		require.NoError(t, err)
		return fetched
	}
	for range 2 {
		require.True(t, big("too large", 5<<20))
	}
	for i := range 9 {
		require.True(t, big(fmt.Sprintf("large %d", i), 4<<20))
	}
	require.False(t, big("large 8", 4<<20))
	require.True(t, big("large 0", 4<<20), "over 32 MiB the oldest goes")
}

// Refresh asks the server even if a result is cached or in flight, and its result is cached.
func TestResponse_CACHE_16_Refresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
		read(t, c, response(""), p)
		result, _, err := c.Response(t.Context(), response(""), true, p.ask)
		require.NoError(t, err)
		require.Equal(t, "2", string(result))
		require.Equal(t, "2", read(t, c, response(""), p))

		slow := &pages{ttl: time.Hour, took: time.Second}
		var wg sync.WaitGroup
		wg.Go(func() { read(t, c, response("x"), slow) })
		synctest.Wait()
		_, _, err = c.Response(t.Context(), response("x"), true, p.ask)
		require.NoError(t, err)
		wg.Wait()
		require.Equal(t, "3", read(t, c, response("x"), p), "the older answer does not replace the newer one")
	})
}

// A list of tools is fresh for the TTL of its Fetch.
func TestFetchSaysHowLong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		set        toolcache.Settings
		ttl, fresh time.Duration
	}{
		{toolcache.Settings{}, time.Hour, time.Hour},
		{toolcache.Settings{}, time.Second, time.Second},
		{toolcache.Settings{TTL: time.Minute}, time.Hour, time.Minute},
		{toolcache.Settings{}, 100 * time.Hour, 24 * time.Hour},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			c, s := newCache(t, tt.set), newServer("a")
			s.ttl = &tt.ttl
			get(t, c, s, "a")
			time.Sleep(tt.fresh - 1)
			get(t, c, s, "a")
			asked(t, s, 1)
			time.Sleep(1)
			get(t, c, s, "a")
			asked(t, s, 2)
		})
	}
}

// Repeated notifications cause one request per second. A caller that waits for it does so within
// its own context, and does not affect others.
func TestResponsesArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, toolcache.Settings{})
		k := cache.ResponseKey{Key: key, Method: "prompts/list"}
		var asked []time.Duration
		start, hour := time.Now(), time.Hour
		ask := func(context.Context) (cache.Response, error) {
			asked = append(asked, time.Since(start))
			return cache.Response{Result: []byte(fmt.Sprint(len(asked))), TTL: &hour}, nil
		}
		read := func(ctx context.Context, refresh bool) (string, error) {
			result, _, err := c.Response(ctx, k, refresh, ask)
			return string(result), err
		}
		c.Outdate(key, "prompts/list") // there was no request yet
		first, err := read(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, "1", first)
		c.Outdate(key, "prompts/list")
		first, err = read(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, "2", first, "at once: it is the first that was asked for because of what the server said")
		c.Outdate(key, "prompts/list")
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := read(hasty, false); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 100 {
			wg.Go(func() {
				if got, err := read(t.Context(), false); err != nil || got != "3" {
					t.Error(got, err)
				}
			})
			c.Outdate(key, "prompts/list")
		}
		wg.Wait()
		c.Outdate(key, "prompts/list")
		_, err = read(t.Context(), true)
		require.NoError(t, err, "who insists does not wait")
		require.Len(t, asked, 4)
		require.Zero(t, asked[1])
		require.GreaterOrEqual(t, asked[2], time.Second)
		require.Less(t, asked[2], time.Second+10*time.Millisecond)
		require.Equal(t, asked[2], asked[3])
	})
}

// Stale results are returned instead of errors as for lists, and dropped when the credentials are
// refused.
func TestStaleResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, toolcache.Settings{ServeStale: true})
		k := cache.ResponseKey{Key: key, Method: "resources/read", Param: "x:/a"}
		var fails error
		minute := time.Minute
		read := func(refresh bool) (toolcache.Freshness, error) {
			_, st, err := c.Response(t.Context(), k, refresh, func(context.Context) (cache.Response, error) {
				return cache.Response{Result: []byte(`{}`), TTL: &minute}, fails
			})
			return st, err
		}
		st, err := read(false)
		require.NoError(t, err)
		require.False(t, st.Stale)
		time.Sleep(time.Minute)
		fails = errors.New("down")
		for range 2 {
			st, err = read(false)
			require.NoError(t, err)
			require.Equal(t, toolcache.Freshness{Stale: true, Age: time.Minute, Cause: fails}, st)
		}
		_, err = read(true)
		require.ErrorIs(t, err, fails, "a refresh never returns a stale result")
		c.ForgetOne(k)
		_, err = read(false)
		require.ErrorIs(t, err, fails, "known to be outdated")

		fails = nil
		_, err = read(false)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		fails = cache.ErrRefused
		_, err = read(false)
		require.ErrorIs(t, err, fails)
		fails = errors.New("down")
		_, err = read(false)
		require.ErrorIs(t, err, fails, "refused is refused")
	})
}

// StaleIf may use the cache: no lock is held while it runs.
func TestStaleIfUsesTheCache(t *testing.T) {
	t.Parallel()
	k := cache.ResponseKey{Key: key, Method: "resources/read", Param: "x:/a"}
	down := errors.New("down")
	var c *cache.Cache
	c = newCache(t, toolcache.Settings{ServeStale: true, StaleIf: func(error) bool {
		used := make(chan struct{})
		go func() {
			defer close(used)
			c.ForgetOne(k)
		}()
		select {
		case <-used:
		case <-time.After(10 * time.Second):
			t.Error("the cache is locked")
		}
		return true
	}})
	none := time.Duration(0)
	_, _, err := c.Response(t.Context(), k, false, func(context.Context) (cache.Response, error) {
		return cache.Response{Result: []byte(`{"a":1}`), TTL: &none}, nil
	})
	require.NoError(t, err)
	got, st, err := c.Response(t.Context(), k, false, func(context.Context) (cache.Response, error) {
		return cache.Response{}, down
	})
	require.NoError(t, err)
	require.True(t, st.Stale)
	require.JSONEq(t, `{"a":1}`, string(got))
}

// Once the credentials are refused, nothing cached is returned, even if a newer request has
// overtaken the refused one.
func TestResponse_CACHE_11_RefusedAlthoughOvertaken(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, first := range map[string]time.Duration{"first": time.Second, "last": 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newCache(t, toolcache.Settings{ServeStale: true})
			k, minute := cache.ResponseKey{Key: key, Method: "resources/read", Param: "x"}, time.Minute
			ask := func(after time.Duration, r cache.Response, err error) cache.Ask {
				return func(context.Context) (cache.Response, error) { time.Sleep(after); return r, err }
			}
			_, _, err := c.Response(t.Context(), k, false, ask(0, cache.Response{Result: []byte("secret"), TTL: &minute}, nil))
			require.NoError(t, err)
			time.Sleep(2 * time.Minute)
			go func() {
				_, _, _ = c.Response(t.Context(), k, false, ask(first, cache.Response{}, cache.ErrRefused))
			}()
			synctest.Wait()
			_, _, err = c.Response(t.Context(), k, true, ask(2*time.Second, cache.Response{}, down))
			require.ErrorIs(t, err, down, name)
			time.Sleep(2 * time.Second)
			_, st, err := c.Response(t.Context(), k, false, ask(0, cache.Response{}, down))
			require.ErrorIs(t, err, down, name)
			require.False(t, st.Stale, name)
		})
	}
}

// A refused later page drops the first page, too.
func TestResponse_CACHE_11_RefusedPage(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
	require.Equal(t, "1", read(t, c, response(""), p))
	_, _, err := c.Response(t.Context(), response("2"), false, func(context.Context) (cache.Response, error) {
		return cache.Response{}, cache.ErrRefused
	})
	require.ErrorIs(t, err, cache.ErrRefused)
	require.Equal(t, "2", read(t, c, response(""), p))
}

// A reader that waits for the next request gets the changes meanwhile.
func TestResponse_CACHE_08_ChangedBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := newCache(t, toolcache.Settings{}), &pages{ttl: time.Hour}
		require.Equal(t, "1", read(t, c, response(""), p))
		c.Outdate(key, response("").Method)
		require.Equal(t, "2", read(t, c, response(""), p), "the first word is acted on at once")
		c.Outdate(key, response("").Method)
		go func() { read(t, c, response(""), p) }()
		synctest.Wait()
		c.Outdate(key, response("").Method)
		time.Sleep(2 * time.Second)
		require.Equal(t, "3", read(t, c, response(""), p), "it is kept")
	})
}

// A page is cached only with its first page, and does not join another list.
func TestResponse_CACHE_10_PageWithoutItsFirst(t *testing.T) {
	t.Parallel()
	c, p := newCache(t, toolcache.Settings{}), &pages{}
	require.Equal(t, "1", read(t, c, response(""), p), "not kept")
	p.ttl = time.Hour
	require.Equal(t, "2", read(t, c, response("2"), p))
	require.Equal(t, "3", read(t, c, response(""), p))
	require.Equal(t, "4", read(t, c, response("2"), p))
	require.Equal(t, "4", read(t, c, response("2"), p), "kept")
	for i := range 1023 { // they evict the first page, but not the second
		read(t, c, cache.ResponseKey{Key: key, Method: "resources/read", Param: fmt.Sprint(i)}, p)
	}
	require.Equal(t, "1028", read(t, c, response("2"), p))
}

// resource is a result that is not part of a list.
func resource(uri string) cache.ResponseKey {
	return cache.ResponseKey{Key: key, Method: "resources/read", Param: uri}
}
