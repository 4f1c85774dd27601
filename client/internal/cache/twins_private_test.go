package cache

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Caches with the same list share it; one that differs in a letter is not shared.
func TestTwins(t *testing.T) {
	t.Parallel()
	list := func(description string) func(context.Context) (Listing, error) {
		return func(context.Context) (Listing, error) {
			return Listing{Tools: []mcp.Tool{{
				Name: "twin", Description: strings.Clone(description), InputSchema: json.RawMessage(`{"type":"object"}`),
			}}}, nil
		}
	}
	hour := time.Hour
	caches := make([]*Cache, 3)
	for i := range caches {
		var err error
		caches[i], err = New(toolcache.Settings{})
		require.NoError(t, err)
	}
	key := func(i int) Key { return Key{Server: "x", Partition: string(rune('a' + i))} }
	contents := func(i int) *contents {
		return caches[i].find(new(key(i))).snap.Load().contents
	}
	for i, description := range []string{"the same", "the same", "another"} {
		require.NoError(t, caches[i].Refresh(t.Context(), key(i), list(description)))
		page := ResponseKey{Key: key(i), Method: mcp.MethodToolsList}
		_, _, err := caches[i].Response(t.Context(), page, false, func(context.Context) (Response, error) {
			return Response{Result: []byte(`{"text":"` + description + `"}`), TTL: &hour}, nil
		})
		require.NoError(t, err)
	}
	kept := func(i int) *text {
		e, ok := caches[i].responses.kept.peek(ResponseKey{Key: key(i), Method: mcp.MethodToolsList})
		require.True(t, ok)
		return e.text
	}
	require.Same(t, contents(0), contents(1))
	require.Same(t, kept(0), kept(1))
	require.NotSame(t, contents(0), contents(2))
	require.NotSame(t, kept(0), kept(2))

	// Each caller owns what it gets.
	tool, _, ok := caches[0].Lookup(key(0), "twin")
	require.True(t, ok)
	tool.Description = "changed"
	again, _, ok := caches[1].Lookup(key(1), "twin")
	require.True(t, ok)
	require.Equal(t, "the same", again.Description)
}

// Values are not kept alive, and collected values leave nothing behind.
func TestTwinsForget(t *testing.T) {
	t.Parallel()
	all := twins[text]{hash: func(t *text) uint64 { return uint64(len(t.bytes)) }, equal: texts.equal}
	first := all.one(&text{[]byte("one")})
	require.Same(t, first, all.one(&text{[]byte("one")}))
	require.NotSame(t, first, all.one(&text{[]byte("two")}), "the same hash does not make them equal")
	runtime.KeepAlive(first)
	require.Eventually(t, func() bool {
		runtime.GC()
		all.mu.Lock()
		defer all.mu.Unlock()
		return len(all.known) == 0
	}, 10*time.Second, time.Millisecond)
}
