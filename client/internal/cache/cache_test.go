package cache_test

import (
	"context"
	"encoding/json"
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

var key = cache.Key{Server: "docling"}

var eightTools = []string{
	"convert_pdf", "convert_docx", "convert_xlsx", "convert_pptx",
	"convert_url", "export_markdown", "export_html", "export_json",
}

// server answers tools/list and counts the requests.
type server struct {
	mu     sync.Mutex
	tools  []mcp.Tool
	err    error
	took   time.Duration
	ttl    *time.Duration
	public bool
	asked  atomic.Int32
}

func newServer(names ...string) *server {
	s := &server{}
	s.set(names...)
	return s
}

func (s *server) set(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = nil
	for _, name := range names {
		s.tools = append(s.tools, mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// list answers after a while, with the state at the time of the request.
func (s *server) list(ctx context.Context) (cache.Listing, error) {
	s.asked.Add(1)
	s.mu.Lock()
	tools, err := s.tools, s.err
	s.mu.Unlock()
	if s.took > 0 {
		select {
		case <-time.After(s.took):
		case <-ctx.Done():
			return cache.Listing{}, context.Cause(ctx)
		}
	}
	return cache.Listing{Tools: tools, TTL: s.ttl, Public: s.public}, err
}

func newCache(t *testing.T, s toolcache.Settings) *cache.Cache {
	t.Helper()
	s.ExactTTL = true // see TestJitter
	c, err := cache.New(s)
	require.NoError(t, err)
	return c
}

// get may be called on any goroutine.
func get(t *testing.T, c *cache.Cache, s *server, name string) *mcp.Tool {
	t.Helper()
	tool, err := c.Get(t.Context(), key, name, s.list)
	if err != nil || tool.Name != name {
		t.Errorf("Get(%q) = %v, %v", name, tool, err)
		return &mcp.Tool{}
	}
	return tool
}

func unknown(t *testing.T, c *cache.Cache, s *server, name string) {
	t.Helper()
	tool, err := c.Get(t.Context(), key, name, s.list)
	require.Nil(t, tool)
	require.ErrorIs(t, err, cache.ErrUnknownTool)
	require.EqualError(t, err, "Unknown tool: "+name)
	var e *cache.UnknownToolError
	require.ErrorAs(t, err, &e)
	require.Equal(t, name, e.Name)
}

func asked(t *testing.T, s *server, want int) {
	t.Helper()
	require.EqualValues(t, want, s.asked.Load(), "requests to the server")
}

func TestCache_S2_CACHE_01_OneListServesAllNames(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer(eightTools...)
	tools, err := c.List(t.Context(), key, s.list)
	require.NoError(t, err)
	require.Len(t, tools, 8)
	for i, name := range eightTools {
		require.Equal(t, name, tools[i].Name, "the server's order")
		require.JSONEq(t, `{"type":"object"}`, string(get(t, c, s, name).InputSchema))
	}
	asked(t, s, 1)
}

func TestCache_S2_CACHE_02_TimeToLive(t *testing.T) {
	t.Parallel()
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	for _, tt := range []struct {
		name string
		set  toolcache.Settings
		hint *time.Duration
		want time.Duration
	}{
		{"default", toolcache.Settings{}, nil, 300 * time.Second},
		{"given", toolcache.Settings{TTL: time.Second}, nil, time.Second},
		{"the server's", toolcache.Settings{}, ms(1500), 1500 * time.Millisecond},
		{"the server's is longer than the default", toolcache.Settings{}, ms(3600_000), time.Hour},
		{"the server's is below the bound", toolcache.Settings{TTL: time.Minute}, ms(1500), 1500 * time.Millisecond},
		{"the server's is above the bound", toolcache.Settings{TTL: time.Minute}, ms(3600_000), time.Minute},
		{"the server's is too long", toolcache.Settings{}, ms(1 << 40), 24 * time.Hour},
		{"the server's is negative", toolcache.Settings{}, ms(-5), 0},
		{"zero given", toolcache.Settings{TTL: -1}, nil, 0},
		{"zero given beats the server's", toolcache.Settings{TTL: -1}, ms(1500), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := newCache(t, tt.set), newServer("a")
				c.Store(key, cache.Listing{Tools: []mcp.Tool{{Name: "a"}}, TTL: tt.hint})
				if tt.want > 0 {
					time.Sleep(tt.want - 1)
					get(t, c, s, "a")
					asked(t, s, 0)
					time.Sleep(1)
				}
				get(t, c, s, "a")
				asked(t, s, 1)
			})
		})
	}
}

func TestCache_S2_CACHE_02_ZeroAsksEveryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{TTL: -1}), newServer("a")
		for i := range 5 {
			get(t, c, s, "a")
			asked(t, s, i+1)
		}
		unknown(t, c, s, "b") // an unknown name causes no second fetch
		asked(t, s, 6)
	})
}

func TestCache_S2_CACHE_04_UnknownTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		get(t, c, s, "a")
		unknown(t, c, s, "x") // one refresh
		asked(t, s, 2)
		unknown(t, c, s, "x") // none for a second
		time.Sleep(time.Second - 1)
		unknown(t, c, s, "x")
		asked(t, s, 2)
		unknown(t, c, s, "y") // another name has its own second
		asked(t, s, 3)
		s.set("a", "x")
		time.Sleep(1)
		get(t, c, s, "x")
		asked(t, s, 4)
	})
}

// Callers that look for a new tool at the same time wait for one refresh, and do not fail because
// it is in flight.
func TestUnknownToolTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		get(t, c, s, "a")
		unknown(t, c, s, "x")
		time.Sleep(time.Second)
		s.set("a", "x")
		s.took = time.Second
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { get(t, c, s, "x") })
		}
		wg.Wait()
		asked(t, s, 3)
	})
}

// The one-second limit of refreshes per name does not hide an answer that is in flight.
func TestUnknownToolJoinsARefreshUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := newCache(t, toolcache.Settings{}), newServer("a")
		get(t, c, s, "a")
		unknown(t, c, s, "x")
		s.set("a", "x", "y")
		s.took = time.Second
		var wg sync.WaitGroup
		wg.Go(func() { get(t, c, s, "y") })
		time.Sleep(time.Millisecond)
		get(t, c, s, "x")
		wg.Wait()
		asked(t, s, 3)
	})
}

func TestCache_S2_CACHE_11_NoToolOfAListIsEvicted(t *testing.T) {
	t.Parallel()
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%d", i)
	}
	c, s := newCache(t, toolcache.Settings{Size: 1}), newServer(names...)
	for _, name := range names {
		get(t, c, s, name)
	}
	asked(t, s, 1)
}

func TestListsAreBoundedAndApart(t *testing.T) {
	t.Parallel()
	c := newCache(t, toolcache.Settings{Size: 2})
	keys := []cache.Key{{Server: "a"}, {Server: "a", Partition: "p"}, {Server: "b"}}
	for i, k := range keys {
		c.Store(k, cache.Listing{Tools: []mcp.Tool{{Name: "t", Title: fmt.Sprint(i)}}})
	}
	_, _, ok := c.Lookup(keys[0], "t")
	require.False(t, ok, "the one not used for longest went")
	for i, k := range keys[1:] {
		tool, _, ok := c.Lookup(k, "t")
		require.True(t, ok)
		require.Equal(t, fmt.Sprint(i+1), tool.Title)
	}
	c.Invalidate(keys[1])
	_, fresh, _ := c.Lookup(keys[1], "t")
	require.False(t, fresh)
	_, fresh, _ = c.Lookup(keys[2], "t")
	require.True(t, fresh)
}

func TestLookupWithoutIO(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, toolcache.Settings{})
		_, _, ok := c.Lookup(key, "a")
		require.False(t, ok)
		c.Store(key, cache.Listing{Tools: []mcp.Tool{{Name: "a"}}})
		time.Sleep(1000 * time.Hour)
		tool, fresh, ok := c.Lookup(key, "a")
		require.True(t, ok)
		require.False(t, fresh)
		require.Equal(t, "a", tool.Name)
		_, _, ok = c.Lookup(key, "b")
		require.False(t, ok)
	})
}

func TestCallersCannotChangeTheCache(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{}), newServer("a", "b")
	get(t, c, s, "a").Name = "poison"
	tools, err := c.List(t.Context(), key, s.list)
	require.NoError(t, err)
	tools[1] = mcp.Tool{Name: "poison"}
	found, _, _ := c.Lookup(key, "b")
	found.Name = "poison"
	s.tools[0].Name = "poison" // the cache keeps its own copy
	get(t, c, s, "a")
	get(t, c, s, "b")
	asked(t, s, 1)
}

func TestFirstOfTheSameNameWins(t *testing.T) {
	t.Parallel()
	c := newCache(t, toolcache.Settings{})
	c.Store(key, cache.Listing{Tools: []mcp.Tool{{Name: "a", Title: "1"}, {Name: "b"}, {Name: "a", Title: "2"}}})
	tools, err := c.List(t.Context(), key, nil)
	require.NoError(t, err)
	require.Len(t, tools, 2)
	require.Equal(t, "1", tools[0].Title)
	tool, _, _ := c.Lookup(key, "a")
	require.Equal(t, "1", tool.Title)
}

func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	c, s := newCache(t, toolcache.Settings{TTL: time.Microsecond, Size: 2, ServeStale: true}), newServer(eightTools...)
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			k := cache.Key{Server: "docling", Partition: fmt.Sprint(g % 3)}
			for i := range 200 {
				switch i % 8 {
				case 0:
					c.Invalidate(k)
				case 1:
					c.Store(k, cache.Listing{Tools: []mcp.Tool{{Name: "convert_pdf"}}})
				case 2:
					if _, err := c.List(t.Context(), k, s.list); err != nil {
						t.Error(err)
					}
				case 3:
					_, _ = c.Get(t.Context(), k, "no such tool", s.list)
				default:
					c.Lookup(k, "convert_pdf")
					if tool, err := c.Get(t.Context(), k, "convert_pdf", s.list); err != nil || tool.Name != "convert_pdf" {
						t.Error(tool, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// Lookup finds the tools of a walk, and callers that need a fresh list ask the server. The same
// list changes nothing.
func TestLearn(t *testing.T) {
	t.Parallel()
	c, err := cache.New(toolcache.Settings{})
	require.NoError(t, err)
	tool := func(name, schema string) mcp.Tool {
		return mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}
	}
	key := cache.Key{Server: "s"}
	c.Learn(key, []mcp.Tool{tool("a", `{}`), tool("b", `{}`)})
	got, fresh, ok := c.Lookup(key, "b")
	require.True(t, ok)
	require.False(t, fresh)
	require.JSONEq(t, `{}`, string(got.InputSchema))

	fetched := 0
	fetch := func(context.Context) (cache.Listing, error) {
		fetched++
		return cache.Listing{Tools: []mcp.Tool{tool("a", `{}`), tool("b", `{}`)}}, nil
	}
	_, err = c.Get(t.Context(), key, "a", fetch)
	require.NoError(t, err)
	require.Equal(t, 1, fetched)
	c.Learn(key, []mcp.Tool{tool("a", `{}`), tool("b", `{}`)})
	_, err = c.Get(t.Context(), key, "a", fetch)
	require.NoError(t, err)
	require.Equal(t, 1, fetched, "the same is fresh still")

	c.Learn(key, []mcp.Tool{tool("a", `{"type":"object"}`)})
	got, fresh, ok = c.Lookup(key, "a")
	require.True(t, ok)
	require.False(t, fresh)
	require.JSONEq(t, `{"type":"object"}`, string(got.InputSchema))
	_, _, ok = c.Lookup(key, "b")
	require.False(t, ok)
}
