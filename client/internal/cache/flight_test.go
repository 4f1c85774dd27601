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
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// The error matches both context.Canceled, for callers, and the cause, for the client.
func TestWaiterThatEndsSaysHowAndWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		s.took = time.Second
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		_, err := c.Get(ctx, key, "a", s.list)
		require.ErrorIs(t, err, gone)
		require.ErrorIs(t, err, context.Canceled)
		require.NotContains(t, err.Error(), "\n")

		ctx, stop := context.WithTimeoutCause(t.Context(), time.Millisecond, gone)
		defer stop()
		_, err = c.List(ctx, key, s.list)
		require.ErrorIs(t, err, gone)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		ctx, cancel = context.WithCancelCause(t.Context())
		cancel(nil)
		_, err = c.List(ctx, key, s.list)
		require.Equal(t, context.Canceled, err, "not said twice")
		get(t, c, s, "a") // the fetch continues without them
		asked(t, s, 1)
	})
}

// A fetch that fails because its owner closed does not fail the other callers: the next one
// fetches for them.
func TestFetcherThatIsGoneHurtsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, set := range []toolcache.Settings{{}, {ServeStale: true, TTL: time.Nanosecond}} {
			c, s := newCache(t, set), newServer("a")
			c.Store(key, cache.Listing{Tools: []mcp.Tool{{Name: "old"}}})
			time.Sleep(cache.DefaultTTL)
			s.took = time.Second
			closed := errors.New("the client is closed")
			closing := func(context.Context) (cache.Listing, error) {
				time.Sleep(time.Second)
				return cache.Listing{}, fmt.Errorf("%w: %w", cache.ErrFetcherGone, closed)
			}
			var wg sync.WaitGroup
			for range 3 { // however many fail in a row
				wg.Go(func() {
					if _, err := c.Get(t.Context(), key, "a", closing); set.ServeStale {
						return // it may have got the old list
					} else if err != nil && !errors.Is(err, closed) {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			for range 50 {
				wg.Go(func() { get(t, c, s, "a") })
			}
			wg.Wait()
			asked(t, s, 1)
		}
	})
}

// A list that is only for its caller is not cached, and the callers that waited for it fetch
// their own.
func TestOwnListIsForItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.Get(t.Context(), key, "mine", func(context.Context) (cache.Listing, error) {
				time.Sleep(time.Second)
				return cache.Listing{Tools: []mcp.Tool{{Name: "mine"}}, Own: true}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 10 {
			wg.Go(func() { get(t, c, s, "a") })
		}
		wg.Wait()
		asked(t, s, 1)
		_, _, kept := c.Lookup(key, "mine")
		require.False(t, kept)
	})
}

// The owner of a failed fetch gets its error at once.
func TestFetcherThatIsGoneIsTold(t *testing.T) {
	t.Parallel()
	c := newCache(t, toolcache.Settings{})
	var calls atomic.Int32
	_, err := c.List(t.Context(), key, func(context.Context) (cache.Listing, error) {
		calls.Add(1)
		return cache.Listing{}, cache.ErrFetcherGone
	})
	require.ErrorIs(t, err, cache.ErrFetcherGone)
	require.EqualValues(t, 1, calls.Load())
}

// Any other failure is shared: a server that is down is asked once for all callers.
func TestFailedFetchIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		s.took = time.Second
		down := errors.New("down")
		s.fail(down)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := c.Get(t.Context(), key, "a", s.list); !errors.Is(err, down) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		asked(t, s, 1)
	})
}

// A slow answer from before a change does not replace a newer list.
func TestOlderEpochDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("old")
		s.took = time.Second
		var wg sync.WaitGroup
		wg.Go(func() { get(t, c, s, "old") })
		synctest.Wait()
		c.Invalidate(key)
		c.Store(key, cache.Listing{Tools: []mcp.Tool{{Name: "new"}}})
		wg.Wait()
		_, fresh, ok := c.Lookup(key, "new")
		require.True(t, ok && fresh)
		_, _, ok = c.Lookup(key, "old")
		require.False(t, ok)
		get(t, c, s, "new")
		asked(t, s, 1)
	})
}

// After a fetch that was delayed by a notification, later reads do not wait.
func TestPaceEndsWithTheFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{TTL: time.Millisecond}), newServer("a")
		get(t, c, s, "a")
		c.Changed(key)
		get(t, c, s, "a")
		time.Sleep(time.Millisecond)
		start := time.Now()
		get(t, c, s, "a")
		require.Zero(t, time.Since(start))
		asked(t, s, 3)
	})
}
