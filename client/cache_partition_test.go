package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// privateLists is a server over HTTP that has one tool for each caller, named
// after its Authorization, and counts how often it is asked for its tools.
func privateLists(t *testing.T) (url string, lists *atomic.Int32) {
	t.Helper()
	lists = &atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		result := `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0`
		if req.Method == "tools/list" {
			lists.Add(1)
			result = fmt.Sprintf(`"ttlMs":600000,"tools":[{"name":"of-%s","inputSchema":{"type":"object"}}]`, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","cacheScope":"private",%s}}`, req.ID, result)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, lists
}

// memory is a store that says when something was saved.
type memory struct {
	mu    sync.Mutex
	kept  map[string]toolcache.Entry
	saved chan struct{}
}

func newMemory() *memory {
	return &memory{kept: map[string]toolcache.Entry{}, saved: make(chan struct{}, 10)}
}

func (m *memory) Load(_ context.Context, key string) (toolcache.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key], nil
}

func (m *memory) Save(_ context.Context, key string, e toolcache.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[key] = e
	m.saved <- struct{}{}
	return nil
}

func (m *memory) Forget(context.Context, string) error { return nil }

// The list of one caller is not used for another, even without a named partition:
// neither in a shared cache nor in a durable one.
func TestCachePartition_CACHE_05_OfTheHeaders(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{false, true} {
		url, lists := privateLists(t)
		store := newMemory()
		shared, err := client.NewCache(toolcache.Settings{})
		require.NoError(t, err)
		kept := client.WithCache(client.CacheConfig{Shared: shared})
		if durable {
			kept = client.WithCache(client.CacheConfig{Settings: toolcache.Settings{Durable: store}})
		}
		for i, who := range []string{"alice", "bob", "alice", "bob"} {
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: url, Header: http.Header{"Authorization": {who}}},
				client.WithProtocolVersion("2026-07-28"), client.WithCache(client.CacheConfig{NoPreload: true}), kept)
			require.NoError(t, err)
			getSchema(t, c, "of-"+who)
			require.EqualValues(t, min(i+1, 2), lists.Load(), "each asks once")
			if durable && i < 2 {
				<-store.saved
			}
			require.NoError(t, c.Close())
		}
	}
}

// If the client cannot identify the caller, a durable cache needs a Partition.
func TestCachePartition_CACHE_05_UnknownCaller(t *testing.T) {
	t.Parallel()
	url, _ := privateLists(t)
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	durable, err := client.NewCache(toolcache.Settings{Durable: newMemory()})
	require.NoError(t, err)
	for name, kept := range map[string]client.Option{
		"own":    client.WithCache(client.CacheConfig{Settings: toolcache.Settings{Durable: newMemory()}}),
		"shared": client.WithCache(client.CacheConfig{Shared: durable}),
	} {
		for _, tr := range []transport.Transport{&transport.HTTP{URL: url, RoundTripper: own}, &transport.SSE{URL: url, RoundTripper: own}} {
			_, err := client.Connect(t.Context(), tr, client.WithCache(client.CacheConfig{NoPreload: true}), kept)
			require.ErrorContains(t, err, "needs a Partition", name)
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
		}
		for _, opt := range []client.Option{client.WithCache(client.CacheConfig{Partition: "me"}), client.WithCache(client.CacheConfig{Partition: client.AllCallers})} {
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: url, RoundTripper: own}, client.WithCache(client.CacheConfig{NoPreload: true}), kept, opt)
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
	}
}
