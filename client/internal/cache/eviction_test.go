package cache_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// A list that was fetched while a notification arrived is not shared as fresh, even if it was
// evicted meanwhile: not with another partition, and not with the next process.
func TestChangeDuringAFetchReachesOthers(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		for _, others := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				store := newTestStore(t)
				set := toolcache.Settings{SharePublic: !durable, Size: 3}
				if durable {
					set.Size, set.Durable = 2, store
				}
				c := newCache(t, set)
				s := fetched("old", time.Hour)
				s.public, s.took = !durable, time.Second
				a, b := cache.Key{Server: "s", Partition: "a"}, cache.Key{Server: "s", Partition: "b"}
				go func() { _, _ = c.List(t.Context(), a, s.list) }()
				synctest.Wait()
				for i := range others {
					_, err := c.List(t.Context(), cache.Key{Server: fmt.Sprint(i)}, newServer("q").list)
					require.NoError(t, err)
				}
				s.set("new")
				c.Changed(a)
				time.Sleep(2 * time.Second)
				if durable {
					c, b = newCache(t, toolcache.Settings{Durable: store}), a // the next process
				}
				tools, err := c.List(t.Context(), b, s.list)
				require.NoError(t, err)
				require.Equal(t, "new", tools[0].Name)
				synctest.Wait()
			})
		}
	}
}
