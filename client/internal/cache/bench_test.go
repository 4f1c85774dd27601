package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func noFetch(context.Context) (cache.Listing, error) { panic("a hit does not fetch") }

func filled(tb testing.TB) *cache.Cache {
	tb.Helper()
	c, err := cache.New(toolcache.Settings{})
	require.NoError(tb, err)
	_, err = c.List(tb.Context(), key, newServer(eightTools...).list)
	require.NoError(tb, err)
	return c
}

var sink *mcp.Tool

// A hit costs nothing if the caller does not keep the tool, and one copy if it does. Not
// parallel: AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	c, ctx := filled(t), t.Context()
	size := 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		tool, _ := c.Get(ctx, key, "export_html", noFetch)
		size += len(tool.InputSchema)
	}), "Get")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		tool, _, _ := c.Lookup(key, "export_html")
		size += len(tool.InputSchema)
	}), "Lookup")
	require.Positive(t, size)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		sink, _ = c.Get(ctx, key, "export_html", noFetch)
	}), 1.0, "Get and keep")
}

func BenchmarkHit(b *testing.B) {
	c, ctx := filled(b), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		tool, err := c.Get(ctx, key, "export_html", noFetch)
		if err != nil || tool.Name == "" {
			b.Fatal(err)
		}
	}
}

func BenchmarkHitKept(b *testing.B) {
	c, ctx := filled(b), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		sink, _ = c.Get(ctx, key, "export_html", noFetch)
	}
}

func BenchmarkHitParallel(b *testing.B) {
	c, ctx := filled(b), b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if tool, err := c.Get(ctx, key, "export_html", noFetch); err != nil || tool.Name == "" {
				b.Error(err)
			}
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	c := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if tool, _, ok := c.Lookup(key, "export_html"); !ok || tool.Name == "" {
			b.Fatal("not there")
		}
	}
}

// BenchmarkHitTwoServers alternates between lists, which needs the LRU.
func BenchmarkHitTwoServers(b *testing.B) {
	c, ctx := filled(b), b.Context()
	other := cache.Key{Server: "other"}
	c.Store(other, cache.Listing{Tools: []mcp.Tool{{Name: "export_html"}}})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := key
		if i%2 == 1 {
			k = other
		}
		if tool, err := c.Get(ctx, k, "export_html", noFetch); err != nil || tool.Name == "" {
			b.Fatal(err)
		}
	}
}
