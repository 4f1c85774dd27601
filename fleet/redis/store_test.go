package fleetredis

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// entry is a public list, fresh for a minute.
func entry(list string) toolcache.Entry {
	sum := sha256.Sum256([]byte(list))
	ttl := time.Minute
	return toolcache.Entry{List: []byte(list), Hash: hex.EncodeToString(sum[:]), At: time.Now(), TTL: &ttl, Public: true}
}

const listKey = "c0ffee"

func TestStoreKeepsPublicLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := joined(t, m, "a", breaker.Settings{}, Settings{})
		b := joined(t, m, "b", breaker.Settings{}, Settings{})
		defer leave(a, b)
		ctx := t.Context()
		want := entry(`{"tools":[]}`)
		require.NoError(t, a.Store().Save(ctx, listKey, want))
		time.Sleep(20 * time.Second)
		got, err := b.Store().Load(ctx, listKey)
		require.NoError(t, err)
		require.Equal(t, want.List, got.List)
		require.Equal(t, want.Hash, got.Hash)
		require.Equal(t, time.Minute, *got.TTL)
		require.True(t, got.Public)
		require.Equal(t, 20*time.Second, time.Since(got.At), "as old as it is")

		absent := func(what string) {
			t.Helper()
			got, err := b.Store().Load(ctx, listKey)
			require.NoError(t, err)
			require.Nil(t, got.List, what)
		}
		time.Sleep(41 * time.Second)
		absent("too old")

		private, timeless, large, old := want, want, want, want
		private.Public = false
		timeless.TTL = nil
		large.List = []byte(strings.Repeat("x", maxShared))
		old.At = time.Now().Add(-time.Hour)
		for name, e := range map[string]toolcache.Entry{"private": private, "without a time": timeless, "too large": large, "old": old} {
			require.NoError(t, a.Store().Save(ctx, listKey, entry(`{"tools":[]}`)))
			require.NoError(t, a.Store().Save(ctx, listKey, e))
			absent(name + ": neither kept nor is what was there")
		}
		require.NoError(t, a.Store().Save(ctx, listKey, entry(`{"tools":[]}`)))
		require.NoError(t, b.Store().Forget(ctx, listKey))
		absent("forgotten")
	})
}

// Lists of others are checked, limited, and fresh no longer than Redis keeps them.
func TestStoreIgnoresGarbage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := joined(t, m, "a", breaker.Settings{}, Settings{})
		defer leave(a)
		for _, raw := range []string{
			"x", "\n", "{}\n{}", `{"v":1,"ms":1}` + "\n{}", `{"v":2,"ms":60000}` + "\n{}", `{"v":1,"ms":9223372036854775807}` + "\n{}",
			`{"v":1,"ms":-1}` + "\n{}", `{"v":1,"ms":60000}` + "\n" + strings.Repeat("x", maxShared),
		} {
			before := a.Stats().Ignored
			m.do(order{kind: orderSave, key: listKey, raw: raw, hint: hint{lasts: 30 * time.Second}})
			got, err := a.Store().Load(t.Context(), listKey)
			require.NoError(t, err)
			require.Nil(t, got.List, "%.40q", raw)
			require.Equal(t, before+1, a.Stats().Ignored, "%.40q", raw)
		}
	})
}

// With the cache in front: a poisoned list is not used. Without Redis the cache asks the
// server, as without a store.
func TestCacheOverTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := joined(t, m, "a", breaker.Settings{}, Settings{})
		b := joined(t, m, "b", breaker.Settings{}, Settings{})
		defer leave(a, b)
		server := clienttest.NewServer(t)
		fetched, ttl := 0, int64(60_000)
		server.On(mcp.MethodToolsList, func(*clienttest.Call) (any, error) {
			fetched++
			return &mcp.ListToolsResult{
				Tools: []mcp.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}},
				TTLMs: &ttl, CacheScope: mcp.CachePublic,
			}, nil
		})
		list := func(n *node, partition string) int {
			c, err := client.Connect(t.Context(), server.HTTP(), client.WithCache(client.CacheConfig{
				Partition: partition, Settings: toolcache.Settings{Durable: n.Store(), SharePublic: true},
			}))
			require.NoError(t, err)
			_, err = c.GetToolSchema(t.Context(), "greet")
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, c.Close())
			return fetched
		}
		require.Equal(t, 1, list(a, "alice"))
		require.Equal(t, 1, list(b, "bob"), "a fetched list serves b")

		m.mu.Lock()
		for k, v := range m.keys {
			v.raw = strings.Replace(v.raw, "greet", "steal", 1)
			m.keys[k] = v
		}
		m.mu.Unlock()
		require.Equal(t, 2, list(b, "alice"), "its hash does not match")
		b.way.breaks(refused, true)
		require.Equal(t, 3, list(b, "alice"))
	})
}

func TestStoreInRedis(t *testing.T) {
	t.Parallel()
	s, rdb := inRedis(t)
	a, _ := joinReal(t, s, "a", breaker.Settings{})
	ctx := t.Context()
	want := entry(`{"tools":[]}`)
	require.NoError(t, a.Store().Save(ctx, listKey, want))
	left, err := rdb.PTTL(ctx, s.Prefix+"tools:"+listKey).Result()
	require.NoError(t, err)
	require.Positive(t, left)
	got, err := a.Store().Load(ctx, listKey)
	require.NoError(t, err)
	require.Equal(t, want.List, got.List)
	require.NoError(t, a.Store().Forget(ctx, listKey))
	got, err = a.Store().Load(ctx, listKey)
	require.NoError(t, err)
	require.Nil(t, got.List)
	require.NoError(t, rdb.LPush(ctx, s.Prefix+"tools:"+listKey, "x").Err())
	got, err = a.Store().Load(ctx, listKey)
	require.NoError(t, err)
	require.Nil(t, got.List)
	require.NotZero(t, a.Stats().Ignored)
	require.NoError(t, rdb.Del(ctx, s.Prefix+"tools:"+listKey).Err())
}
