package cache_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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

// fetched is a server whose list has a name and a time to live; nil for none.
func fetched(name string, ttl time.Duration) *server {
	s := newServer(name)
	if ttl > 0 {
		s.ttl = &ttl
	}
	return s
}

// The next process finds the list of the previous one: fresh for the rest of its TTL, then stale,
// which may still be used if the server is down.
func TestStoreOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	down := errors.New("down")
	for name, tt := range map[string]struct {
		ttl, away time.Duration
		set       toolcache.Settings
		before    func(c *cache.Cache)
		fails     error
		want      string // "" for an error
		asked     int
		stale     bool
	}{
		"within its time":            {ttl: hour, away: hour - 1, want: "old"},
		"after it":                   {ttl: hour, away: hour, want: "new", asked: 1},
		"no time was given":          {away: time.Second, want: "new", asked: 1},
		"down":                       {ttl: hour, away: 2 * hour, fails: down, asked: 1},
		"down, stale is good enough": {ttl: hour, away: 2 * hour, set: toolcache.Settings{ServeStale: true}, fails: down, want: "old", asked: 1, stale: true},
		"down for too long":          {ttl: hour, away: 2*hour + 1, set: toolcache.Settings{ServeStale: true}, fails: down, asked: 1},
		"refused":                    {ttl: hour, away: 2 * hour, set: toolcache.Settings{ServeStale: true}, fails: cache.ErrRefused, asked: 1},
		"a bound of one's own":       {ttl: hour, away: time.Minute, set: toolcache.Settings{TTL: time.Minute}, want: "new", asked: 1},
		"told before it was read":    {ttl: hour, away: 1, before: func(c *cache.Cache) { c.Changed(key) }, want: "new", asked: 1},
		"another clock, behind":      {ttl: hour, away: -time.Minute, want: "new", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &toolcache.FileStore{Dir: filepath.Join(t.TempDir(), "tools")}
				first := newCache(t, toolcache.Settings{Durable: moved{store, -tt.away}})
				get(t, first, fetched("old", tt.ttl), "old")
				synctest.Wait()

				tt.set.Durable = store
				c, s := newCache(t, tt.set), fetched("new", hour)
				s.fail(tt.fails)
				if tt.before != nil {
					tt.before(c)
				}
				tools, st, err := c.Read(t.Context(), key, s.list)
				asked(t, s, tt.asked)
				if tt.want == "" {
					require.ErrorIs(t, err, tt.fails)
				} else {
					require.NoError(t, err)
					require.Equal(t, tt.want, tools[0].Name)
					require.Equal(t, tt.stale, st.Stale)
				}
				if tt.away > 0 && tt.before == nil && tt.want != "new" {
					found, _, ok := c.Lookup(key, "old") // at any age
					require.True(t, ok)
					require.JSONEq(t, `{"type":"object"}`, string(found.InputSchema))
				}
				synctest.Wait()
			})
		})
	}
}

// moved is a store with a shifted clock: what it saves is older.
type moved struct {
	*toolcache.FileStore
	by time.Duration
}

func (m moved) Save(ctx context.Context, key string, e toolcache.Entry) error {
	e.At = e.At.Add(m.by)
	return m.FileStore.Save(ctx, key, e)
}

// A stale list does not remain in the store, and neither does one after refused credentials.
func TestStoreForgets(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, c *cache.Cache, s *server){
		"changed":     func(_ *testing.T, c *cache.Cache, _ *server) { c.Changed(key) },
		"invalidated": func(_ *testing.T, c *cache.Cache, _ *server) { c.Invalidate(key) },
		"refused": func(t *testing.T, c *cache.Cache, s *server) {
			s.fail(cache.ErrRefused)
			_, err := c.Get(t.Context(), key, "b", s.list)
			require.ErrorIs(t, err, cache.ErrRefused)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newTestStore(t)
				c, s := newCache(t, toolcache.Settings{Durable: store}), fetched("a", time.Hour)
				get(t, c, s, "a")
				synctest.Wait()
				require.Len(t, files(t, store), 1)
				spoil(t, c, s)
				synctest.Wait()
				require.Empty(t, files(t, store))
				s.fail(nil)
				time.Sleep(time.Second)
				get(t, c, s, "a")
				synctest.Wait()
				require.Len(t, files(t, store), 1)
			})
		})
	}
}

// A list that did not just come from the server does not prove that a tool is unknown: neither
// one from the store nor one of another partition.
func TestAListFoundElsewhereCallsNothingUnknown(t *testing.T) {
	t.Parallel()
	ann := cache.Key{Server: "docling", Partition: "ann"}
	bob := cache.Key{Server: "docling", Partition: "bob"}
	for name, public := range map[string]bool{"from the store": false, "of another partition": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				set := toolcache.Settings{SharePublic: public}
				if !public {
					set.Durable = newTestStore(t)
				}
				first, s := newCache(t, set), fetched("a", time.Hour)
				s.public = public
				_, err := first.Get(t.Context(), ann, "a", s.list)
				require.NoError(t, err)
				synctest.Wait()
				second, key := first, bob
				if !public {
					second, key = newCache(t, set), ann
				}
				s.set("a", "b")
				var wg sync.WaitGroup
				for range 20 {
					wg.Go(func() {
						if _, err := second.Get(t.Context(), key, "b", s.list); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				asked(t, s, 2)
				_, err = second.Get(t.Context(), key, "c", s.list)
				require.ErrorIs(t, err, cache.ErrUnknownTool)
				asked(t, s, 3)
				synctest.Wait() // the fetched list is stored
			})
		})
	}
}

// Partitions have separate files with opaque names, except public lists that may be shared.
func TestStorePartitions(t *testing.T) {
	t.Parallel()
	ann := cache.Key{Server: "docling", Partition: "ann"}
	bob := cache.Key{Server: "docling", Partition: "bob"}
	for name, tt := range map[string]struct{ public, share, crosses bool }{
		"private":            {false, true, false},
		"public, not shared": {true, false, false},
		"public, shared":     {true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newTestStore(t)
				set := toolcache.Settings{Durable: store, SharePublic: tt.share}
				s := fetched("a", time.Hour)
				s.public = tt.public
				_, err := newCache(t, set).List(t.Context(), ann, s.list)
				require.NoError(t, err)
				synctest.Wait()
				for _, name := range files(t, store) {
					require.NotContains(t, name, "ann")
				}
				_, err = newCache(t, set).List(t.Context(), bob, s.list)
				require.NoError(t, err)
				if tt.crosses {
					asked(t, s, 1)
				} else {
					asked(t, s, 2)
				}
				_, err = newCache(t, set).List(t.Context(), ann, s.list)
				require.NoError(t, err)
				synctest.Wait()
				if tt.crosses {
					asked(t, s, 1)
				} else {
					asked(t, s, 2)
				}
			})
		})
	}
}

func files(t *testing.T, f *toolcache.FileStore) (names []string) {
	t.Helper()
	found, err := os.ReadDir(f.Dir)
	require.NoError(t, err)
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// A file that is damaged, too large, of another user, or accessible to others counts as missing.
func TestFileStoreTrustsNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"empty":     func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) },
		"no head":   func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, []byte("x"), 0o600)) },
		"damaged":   func(t *testing.T, path string) { edit(t, path, `"a"`, `"b"`) },
		"cut":       func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 300)) },
		"of old":    func(t *testing.T, path string) { edit(t, path, `"format":1`, `"format":9`) },
		"of others": func(t *testing.T, path string) { edit(t, path, `"key":"`, `"key":"0`) },
		"large":     func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 17<<20)) },
		"a folder": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		},
		"open to others": func(t *testing.T, path string) {
			if runtime.GOOS == "windows" {
				t.Skip("files have no such bits there")
			}
			require.NoError(t, os.Chmod(path, 0o622))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newTestStore(t)
				s := fetched("a", time.Hour)
				get(t, newCache(t, toolcache.Settings{Durable: store}), s, "a")
				synctest.Wait()
				path := filepath.Join(store.Dir, files(t, store)[0])
				spoil(t, path)
				c := newCache(t, toolcache.Settings{Durable: store})
				get(t, c, s, "a")
				synctest.Wait()
				asked(t, s, 2)
				get(t, c, s, "a")
				asked(t, s, 2)
			})
		})
	}
}

// A stored list that is damaged is no list; a valid one may have any content that a server may
// send.
func TestStoredListIsReadLikeAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fetched("a", time.Hour)
		hour := time.Hour
		for list, want := range map[string]int{
			`{"tools":[{"name":"a","inputSchema":{}}]}`: 0,
			`{"tools":[{"name":7}]}`:                    1,
			`[]`:                                        1,
		} {
			before := int(s.asked.Load())
			store := poisoned{toolcache.Entry{List: []byte(list), Hash: hashOf(list), At: time.Now(), TTL: &hour}}
			get(t, newCache(t, toolcache.Settings{Durable: store}), s, "a")
			synctest.Wait()
			require.Equal(t, want, int(s.asked.Load())-before, "%.40s", list)
		}
	})
}

type poisoned struct{ entry toolcache.Entry }

func (p poisoned) Load(context.Context, string) (toolcache.Entry, error) { return p.entry, nil }
func (p poisoned) Save(context.Context, string, toolcache.Entry) error   { return errors.New("full") }

func (p poisoned) Forget(context.Context, string) error { return errors.New("stuck") }

func edit(t *testing.T, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o600))
}

// A store that does not respond costs each fetch one second, and a read of a fresh list nothing.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{Durable: slow{}}), newServer("a")
		start := time.Now()
		get(t, c, s, "a")
		require.Equal(t, time.Second, time.Since(start))
		for range 10 {
			get(t, c, s, "a")
			c.Changed(key)
			c.Lookup(key, "a")
		}
		require.Less(t, time.Since(start), 12*time.Second)
		time.Sleep(time.Minute)
	})
}

type slow struct{}

func (slow) wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s slow) Load(ctx context.Context, _ string) (toolcache.Entry, error) {
	return toolcache.Entry{}, s.wait(ctx)
}
func (s slow) Save(ctx context.Context, _ string, _ toolcache.Entry) error { return s.wait(ctx) }
func (s slow) Forget(ctx context.Context, _ string) error                  { return s.wait(ctx) }

// A store keeps all of a tool.
func TestStoreKeepsToolsWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var res mcp.ListToolsResult
		require.NoError(t, mcp.Unmarshal([]byte(`{"tools":[{"name":"a","title":"A","inputSchema":{"type":"object","properties":{"n":{"const":9007199254740993}}},"annotations":{"readOnlyHint":true},"_meta":{"k":1},"x-own":[1]}]}`), &res))
		store := newTestStore(t)
		hour := time.Hour
		fetch := func(context.Context) (cache.Listing, error) {
			return cache.Listing{Tools: res.Tools, TTL: &hour}, nil
		}
		require.NoError(t, newCache(t, toolcache.Settings{Durable: store}).Refresh(t.Context(), key, fetch))
		synctest.Wait()
		tool, err := newCache(t, toolcache.Settings{Durable: store}).Get(t.Context(), key, "a", noFetch)
		require.NoError(t, err)
		require.Equal(t, res.Tools[0].Fingerprint(), tool.Fingerprint())
		require.Equal(t, res.Tools[0].Extra, tool.Extra)
	})
}

// newTestStore returns a store in a folder that it creates.
func newTestStore(t *testing.T) *toolcache.FileStore {
	t.Helper()
	return &toolcache.FileStore{Dir: filepath.Join(t.TempDir(), "tools")}
}
